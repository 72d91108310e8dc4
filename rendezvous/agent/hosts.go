package agent

import (
	"maps"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// hostsKey is above what the leader remembers of machines on which something went wrong.
const hostsKey = "hosts/"

// decodeHost reads a host's record. On one that cannot be read nothing is decided.
func (l *leader) decodeHost(kv store.KV) {
	name, err := store.Unescape(strings.TrimPrefix(kv.Key, hostsKey))
	if err == nil {
		var h *rendezvous.Host
		if h, err = rendezvous.ParseHost(kv.Key, kv.Value); err == nil {
			delete(l.bad, kv.Key)
			if l.view.Hosts == nil {
				l.view.Hosts = map[string]*rendezvous.Host{}
			}
			l.view.Hosts[name] = h
			return
		}
		delete(l.view.Hosts, name)
	}
	if l.bad[kv.Key] == "" {
		l.log.Warn("a host's record cannot be used; its faults do not count", "err", err)
	}
	l.bad[kv.Key] = err.Error()
}

// hostGone forgets a host whose record has gone.
func (l *leader) hostGone(key string) {
	if name, err := store.Unescape(strings.TrimPrefix(key, hostsKey)); err == nil {
		delete(l.view.Hosts, name)
	}
}

// hostsAtOnce bounds how many records of hosts one transaction puts. The leader writes no more; others may.
const hostsAtOnce = 60

// hosts adds the records of hosts to a transaction: those that the decision changes and, where the job's own comes under a
// lease or is taken from one, all others. lease is nil for records that stay.
func (l *leader) hosts(txn *store.Txn, d rendezvous.Decision, lease store.Lease, moves bool) error {
	values := map[string][]byte{}
	if moves {
		for key, kv := range l.rows {
			if strings.HasPrefix(key, hostsKey) && len(values) < hostsAtOnce {
				values[key] = kv.Value
			}
		}
	}
	for name, h := range d.Hosts {
		value, err := []byte(nil), error(nil)
		if h != nil {
			if value, err = rendezvous.Encode(h); err != nil {
				return err
			}
		}
		values[hostsKey+store.Escape(name)] = value
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch value := values[key]; {
		case value == nil:
			txn.Then = append(txn.Then, store.Delete(key))
		case lease != nil:
			txn.Then = append(txn.Then, store.PutLeased(key, value, lease))
		default:
			txn.Then = append(txn.Then, store.Put(key, value))
		}
	}
	return nil
}

// sayBans says which hosts a decision bans, and for which a ban is over.
func (l *leader) sayBans(before, after *rendezvous.Job) {
	bans := func(j *rendezvous.Job) (list []rendezvous.Ban) {
		if j != nil {
			list = j.Bans
		}
		return list
	}
	is := func(list []rendezvous.Ban, host string) bool {
		return slices.ContainsFunc(list, func(b rendezvous.Ban) bool { return b.Host == host })
	}
	for _, b := range bans(after) {
		if !is(bans(before), b.Host) {
			l.log.Warn("a host is banned: its nodes wait as spares while there are enough others", "host", b.Host,
				"until", b.Until.UTC().Format(rendezvous.BanTime), "score", b.Score, "last", b.Last.String(),
				"do", "look at that machine; gangrun unban "+b.Host+" lifts it")
		}
	}
	for _, b := range bans(before) {
		if !is(bans(after), b.Host) {
			l.log.Info("a host is no longer banned", "host", b.Host)
		}
	}
}

// banned tells of the ban for which a node without a place in the round waits.
func (n *node) banned() string {
	if j := n.reading.Job; j != nil {
		if b := j.Ban(n.record.HostName(), n.now()); b != nil {
			return "; " + b.Says()
		}
	}
	return ""
}

// keptOut are the hosts that are banned.
func (n *node) keptOut() (hosts []string) {
	if j := n.reading.Job; j != nil {
		for _, b := range j.Bans {
			hosts = append(hosts, b.Host)
		}
	}
	return hosts
}

// sayNeeded says that a banned host takes part all the same.
func (n *node) sayNeeded() {
	if j := n.reading.Job; j != nil {
		if b := j.Ban(n.record.HostName(), n.now()); b != nil {
			n.log.Warn("this node's host is banned but takes part: there are too few others", "host", b.Host,
				"until", b.Until.UTC().Format(rendezvous.BanTime), "last", b.Last.String())
		}
	}
}
