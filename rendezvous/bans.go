package rendezvous

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// The faults of hosts are counted by the leader alone, in the transaction of whatever it decides, and each once for its
// host and round: Host.Round says how far it has counted. So neither a decision that is made again nor another leader
// counts one twice.

// clock is the time by the job's clock.
func (t *turn) clock() time.Time { return t.now.Add(t.job.Clock.of()) }

// host is what is known of a host, nil for one without a fault.
func (t *turn) host(name string) *Host {
	if t.hosts != nil {
		return t.hosts[name]
	}
	return t.Hosts[name]
}

// setHost remembers a host, or with nil forgets it. It changes nothing in the store; write does.
func (t *turn) setHost(name string, h *Host) {
	if t.hosts == nil {
		t.hosts = maps.Clone(t.Hosts)
	}
	switch {
	case h == nil:
		delete(t.hosts, name)
		return
	case t.hosts == nil:
		t.hosts = map[string]*Host{}
	}
	t.hosts[name] = h
}

// hostsChanged is of how many hosts this decision changes the records.
func (t *turn) hostsChanged() (n int) {
	if t.hosts == nil {
		return 0
	}
	for name, h := range t.hosts {
		if t.Hosts[name] != h {
			n++
		}
	}
	for name := range t.Hosts {
		if t.hosts[name] == nil {
			n++
		}
	}
	return n
}

// known are the hosts of which something is known.
func (t *turn) known() map[string]*Host {
	if t.hosts != nil {
		return t.hosts
	}
	return t.Hosts
}

// countFaults counts what the nodes tell of the machines they run on.
func (t *turn) countFaults() {
	switch t.job.Phase {
	case Forming, Running, Stopping:
	default:
		return
	}
	var sick []named
	for name, e := range t.Nodes {
		if e.Store == t.Token && e.of(t.job.RunUID) && e.Round >= max(t.job.Round-1, 0) && (e.Sick != "" || e.atFault()) {
			sick = append(sick, named{name, e})
		}
	}
	slices.SortFunc(sick, func(a, b named) int { return cmp.Compare(a.name, b.name) })
	for _, e := range sick {
		if t.hostsChanged() >= hostChanges {
			return // the rest with the next decision
		}
		message := e.Sick
		if e.atFault() {
			message = e.Outcome.Message
		}
		t.blame(e.HostName(), newFault(e.Round, e.name, exitcodes.ReasonNodeUnhealthy, message, t.clock()))
	}
}

// atFault reports whether the node's workers failed for a broken machine.
func (n *Node) atFault() bool {
	return n.Outcome != nil && n.Outcome.Round == n.Round && n.Outcome.failed() && n.Outcome.NodeFault
}

// countHang counts a hang for the host of the node on which it began, where something tells which: evidence against a rank
// there, or that it had come least far.
func (t *turn) countHang(cause Stop) {
	o := cause.Outcome
	if cause.Kind != StopFailure || o == nil || o.Reason != exitcodes.ReasonHang || t.Round == nil ||
		o.role() != exitcodes.RoleRoot && t.behind != cause.Node {
		return
	}
	for _, m := range t.Round.Members {
		if m.Name == cause.Node {
			t.blame(m.HostName(), newFault(cause.Round, cause.Node, cause.Reason, cause.Message, t.clock()))
		}
	}
}

// blame counts a fault of a host, unless one of that round was counted.
func (t *turn) blame(host string, f Fault) {
	h := t.host(host)
	if host == "" || h != nil && f.Round <= h.Round {
		return
	}
	if h == nil && len(t.known()) >= maxHosts && !t.makeRoom(f) {
		return
	}
	t.setHost(host, h.with(f))
}

// makeRoom forgets the host with the lowest score, of those whose faults of this round are not counted yet: else one would
// be counted again, and another one forgotten, for ever.
func (t *turn) makeRoom(f Fault) bool {
	var least string
	for _, name := range slices.Sorted(maps.Keys(t.known())) {
		h := t.host(name)
		if h.Round < f.Round && (least == "" || h.Score(f.At) < t.host(least).Score(f.At)) {
			least = name
		}
	}
	if least != "" {
		t.setHost(least, nil)
	}
	return least != ""
}

// pardon forgets what a host has done. That the faults of this round were counted stays.
func (t *turn) pardon(host string) {
	if h := t.host(host); h != nil {
		t.setHost(host, &Host{V: version, At: t.clock().UTC(), Round: max(h.Round, t.job.Round)})
	}
}

// banned lists the hosts that are kept out, the worst first: those with the score for it, but no more than one of ten of
// the hosts there are. Where all are sick the job would have none left.
func (t *turn) banned() (list []string) {
	at := t.clock()
	for name, h := range t.known() {
		if h.Score(at) >= banAt {
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b string) int {
		x, y := t.host(a), t.host(b)
		return cmp.Or(cmp.Compare(y.Score(at), x.Score(at)), x.At.Compare(y.At), cmp.Compare(a, b))
	})
	return list[:min(len(list), max(1, t.hostsSeen()/bannedShare))]
}

// hostsSeen is how many hosts the records speak of.
func (t *turn) hostsSeen() int {
	seen := map[string]bool{}
	for _, e := range t.Nodes {
		seen[e.HostName()] = true
	}
	if t.Round != nil {
		for _, m := range t.Round.Members {
			seen[m.HostName()] = true
		}
	}
	for name := range t.known() {
		seen[name] = true
	}
	delete(seen, "")
	return len(seen)
}

// assign gives out the ranks to nodes of hosts that are not banned, as long as these suffice for a round; else also to
// those of banned ones, the least sick first: a job that could run never waits for a ban to end. A node of a role that no
// other one has is needed in any case.
func (t *turn) assign(candidates []named) assignment {
	banned := t.banned()
	if len(banned) == 0 {
		return assign(t.job.Spec, candidates, t.Round)
	}
	fit := slices.DeleteFunc(slices.Clone(candidates), func(c named) bool { return slices.Contains(banned, c.HostName()) })
	roles := map[string]bool{}
	for _, c := range fit {
		roles[c.Role] = true
	}
	var rest []named // of the banned, the least sick first
	for _, host := range slices.Backward(banned) {
		needed := map[string]bool{}
		for _, c := range candidates {
			switch {
			case c.HostName() != host:
			case roles[c.Role]:
				rest = append(rest, c)
			default:
				needed[c.Role] = true
				fit = append(fit, c)
			}
		}
		maps.Copy(roles, needed)
	}
	a := assign(t.job.Spec, fit, t.Round)
	for len(rest) > 0 && a.chosen == nil {
		host := rest[0].HostName()
		for len(rest) > 0 && rest[0].HostName() == host {
			fit, rest = append(fit, rest[0]), rest[1:]
		}
		a = assign(t.job.Spec, fit, t.Round)
	}
	return a
}

// tellHosts puts what has become of the hosts into a decision, and who is kept out into the job's record.
func (t *turn) tellHosts(d *Decision) {
	at := t.clock()
	for name, h := range t.known() {
		if h.At.After(at) { // a clock was put back: what is to come cannot have happened
			t.setHost(name, h.notAfter(at))
		}
	}
	banned := t.banned()
	t.job.Bans = nil
	for _, name := range banned {
		h := t.host(name)
		t.job.Bans = append(t.job.Bans, Ban{
			Host: name, Score: h.Points, Last: h.last().moved(-t.job.Clock.of()),
			Until: h.BannedUntil().Add(-t.job.Clock.of()).UTC(),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(t.known())) {
		h := t.host(name)
		is := slices.Contains(banned, name)
		switch {
		case h.Score(at) < forgotten && h.Round < t.job.Round-1:
			if t.hostsChanged() < hostChanges { // else with the next decision
				t.setHost(name, nil)
			}
		case h.Banned != is:
			put := *h
			put.Banned = is
			t.setHost(name, &put)
		}
	}
	for name, h := range t.hosts {
		if t.Hosts[name] != h {
			d.setHost(name, h)
		}
	}
	for name := range t.Hosts {
		if t.host(name) == nil {
			d.setHost(name, nil)
		}
	}
}

func (d *Decision) setHost(name string, h *Host) {
	if d.Hosts == nil {
		d.Hosts = map[string]*Host{}
	}
	d.Hosts[name] = h
}

// broughtBans takes over the bans of a record from an earlier store: what else was known of hosts has gone with it.
func (t *turn) broughtBans() {
	for _, b := range t.job.Bans {
		if t.host(b.Host) == nil {
			f := b.Last.moved(t.job.Clock.of())
			t.setHost(b.Host, &Host{V: version, Points: b.Score, At: f.At, Round: f.Round, Faults: []Fault{f}})
		}
	}
}

// moved is the fault with its time put from one clock to another.
func (f Fault) moved(by time.Duration) Fault {
	f.At = f.At.Add(by).UTC()
	return f
}

// HostState is a host as somebody sees it who does not take part.
type HostState struct {
	Score  float64   `json:"score"` // now
	Banned bool      `json:"banned"`
	Until  time.Time `json:"until,omitzero"` // when the ban ends, if nothing more happens
	Faults []Fault   `json:"faults"`         // the latest, the newest last
}

// Hosts says how the hosts stand of which something is remembered. Times are by the clock that now is of.
func Hosts(v View, now time.Time) map[string]HostState {
	if v.Job == nil || len(v.Hosts) == 0 {
		return nil
	}
	t := newTurn(v, now)
	banned := t.banned()
	states := map[string]HostState{}
	for name, h := range v.Hosts {
		s := HostState{Score: h.Score(t.clock()), Banned: slices.Contains(banned, name), Faults: []Fault{}}
		if s.Score == 0 {
			continue
		}
		if s.Banned {
			s.Until = h.BannedUntil().Add(-t.job.Clock.of()).UTC()
		}
		for _, f := range h.Faults {
			s.Faults = append(s.Faults, f.moved(-t.job.Clock.of()))
		}
		states[name] = s
	}
	return states
}
