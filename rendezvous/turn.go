package rendezvous

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// turn is one decision being made.
type turn struct {
	View
	now     time.Time
	job     *Job // the next record
	sorted  []named
	unheard bool             // some member still runs that has told of no cause
	unhung  bool             // one of these is of the gang, and has not told that it hangs, either
	again   time.Time        // when to look again at what is not yet decided
	hosts   map[string]*Host // as they become, nil where nothing has changed
	hash    func() string    // of the job's spec, which no turn changes: it costs, and is asked for several times
	behind  string           // the node that has come least far in a round that hung; empty: nobody can tell
}

func newTurn(v View, now time.Time) *turn {
	t := &turn{View: v, now: now}
	if v.Job != nil {
		t.job = v.Job.clone()
		t.hash = sync.OnceValue(v.Job.Spec.Hash)
	}
	return t
}

// write ends the turn with what has become of the record.
func (t *turn) write(a Action) Decision {
	t.job.V, t.job.Store = version, t.Token
	t.job.Seq++
	t.job.At = t.now.UTC()
	d := Decision{Action: a, Job: t.job, DropRound: -1}
	t.tellHosts(&d)
	if t.job.Phase.finished() {
		d.Keep = max(t.job.Spec.TTL.of(), time.Minute) // its nodes must be able to read it
		if t.job.End.Verdict != exitcodes.Retry {      // else it may go on, and needs to know who had left
			d.Remove = t.departed(nil)
		}
	}
	return d
}

// wait ends the turn without a change.
func (t *turn) wait(next time.Time, kind string, nodes []string, format string, args ...any) Decision {
	return Decision{
		Action: ActWait, DropRound: -1, Next: next,
		Why: WhyNot{For: kind, Nodes: nodes, Text: fmt.Sprintf(format, args...)},
	}
}

// stop lets the round's members stop. It changes the record only; the caller writes it.
func (t *turn) stop(kind, node, reason, message string) {
	t.job.Stop = &Stop{
		Round: t.job.Round, Kind: kind, Node: node, Reason: reason, Message: cut(message), At: t.now.UTC(),
	}
	t.job.enter(Stopping, t.now)
}

// end ends the run. It changes the record only; the caller writes it.
func (t *turn) end(phase Phase, e End) {
	e.At = t.now.UTC()
	e.Message = cut(e.Message)
	t.job.End, t.job.Suspend = &e, false // there is nothing left to resume
	t.job.enter(phase, t.now)
}

// since is when the phase began. The clock of an earlier leader may be ahead of ours; then it begins now.
func (t *turn) since() time.Time {
	if t.job.Since.After(t.now) {
		return t.now
	}
	return t.job.Since
}

// entries lists the nodes by name, so that equal views make equal decisions.
func (t *turn) entries() []named {
	if t.sorted == nil {
		t.sorted = make([]named, 0, len(t.Nodes))
		for _, name := range slices.Sorted(maps.Keys(t.Nodes)) {
			t.sorted = append(t.sorted, named{name, t.Nodes[name]})
		}
	}
	return t.sorted
}

type named struct {
	name string
	NodeEntry
}

// departed lists the keys of nodes that have left, but for some.
func (t *turn) departed(but map[string]bool) (list []Removal) {
	for _, e := range t.entries() {
		if !e.Leased && e.State == NodeLeft && !but[e.name] {
			list = append(list, Removal{e.name, e.ModRev})
		}
	}
	return list
}

// present reports whether the node is there to take part: on a lease of this store and not about to go.
func (t *turn) present(e NodeEntry) bool {
	return e.Leased && !e.Leaving && e.Store == t.Token
}

// candidates lists the nodes that can take part in the job's next round.
func (t *turn) candidates() (list []named) {
	hash := t.hash()
	for _, e := range t.entries() {
		if t.present(e.NodeEntry) && e.gone() && e.SpecHash == hash && e.of(t.job.RunUID) {
			list = append(list, e)
		}
	}
	return list
}

// of reports whether the node belongs to the run, or to whichever there is.
func (n *Node) of(runUID string) bool { return n.RunUID == "" || n.RunUID == runUID }

// member is one member of the current round and how it stands.
type member struct {
	Member
	entry    NodeEntry // its record, where that is still its own
	own      bool      // entry is
	taken    bool      // its key belongs to another incarnation by now
	standing standing
	until    time.Time // silent: when it counts as gone
}

// members says how each member of the current round stands.
func (t *turn) members() []member {
	if t.Round == nil {
		return nil
	}
	list := make([]member, len(t.Round.Members))
	for rank, m := range t.Round.Members {
		list[rank] = t.member(rank, m)
		if t.job.MembersGone {
			list[rank].standing = max(list[rank].standing, stopped)
		}
	}
	return list
}

// outcome is what the member has told about its workers in this round, nil if nothing.
func (t *turn) outcome(m member) *Outcome {
	if !m.own || m.entry.Outcome == nil {
		return nil
	}
	o := m.entry.Outcome
	if o.Round != t.Round.Number || o.RunUID != t.Round.RunUID || o.Store != t.Token {
		return nil
	}
	return o
}

// earliest is the first of the times that are set.
func earliest(times ...time.Time) (first time.Time) {
	for _, at := range times {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
