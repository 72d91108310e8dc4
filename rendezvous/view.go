package rendezvous

import (
	"fmt"
	"slices"
	"time"
)

// View is what the leader decides on: the whole state of the store as of one revision, decoded, and what the leader
// remembers of it.
type View struct {
	// Token is the store's: a cluster id, or the random token of an embedded store.
	Token string
	// Rev is the revision up to which the view is complete; Read is what a linearizable read has returned that was begun at
	// the time of the decision or later. Nothing is decided while the view is behind it: an old watch must not fence
	// anybody who has come back since.
	Rev, Read int64
	// NewSince is when the leader first saw this store, where it may be a new one that has taken an older one's place;
	// zero for a store that is known to have kept its data.
	NewSince time.Time

	// FirstRound is where a job without a record begins: after the rounds whose records somebody has left.
	FirstRound int

	Job      *Job // nil: none
	JobRev   int64
	Round    *Round // that of Job.Round; nil when it is -1
	Nodes    map[string]NodeEntry
	Reached  map[string]*Reached // by node, of those that tell
	Hosts    map[string]*Host    // on which something went wrong, by name; they are never changed
	Controls []ControlEntry      // in the order of their creation
	// Candidates are those that stand for election, by CandidateName. Their keys are on the same leases as the nodes' own,
	// so that a node whose key somebody has deleted is not taken for silent.
	Candidates   map[string]bool
	Observations Observations
}

// NodeEntry is a node's record, never nil and never changed, and what the store knows about its key.
type NodeEntry struct {
	*Node
	CreateRev, ModRev int64
	Leased            bool
}

// ControlEntry is a command and when it came.
type ControlEntry struct {
	Control
	CreateRev int64
}

// Observations is what the leader remembers about the members of the current round, by rank. It is lost with the leader: the
// next one starts over, and waits longer rather than too short.
type Observations struct {
	Store  string
	RunUID string
	Round  int
	Member []Observation
	// Missing is since when the round's record is missing, and nobody has fallen silent who may run its workers; zero while
	// it is there.
	Missing time.Time
	// Working are those that were there at the last look without the record, and had not said that their workers are gone,
	// by CandidateName.
	Working []string
}

// Observation is what the leader has seen of one member.
type Observation struct {
	// Silent is since when the leader has missed the member's key; zero while it is there.
	Silent time.Time
	// Rev is the newest revision at which the key was known to be there.
	Rev int64
	// Echo is since when the leader knows of a failure that may be the echo of another one; zero where there is none.
	Echo time.Time
	// Out is set once the member has said that its workers are gone: they do not come back in this round.
	Out bool
	// Done is set where it has said that they have succeeded.
	Done bool
}

// Put tells of a node's key that was put since the last look, whether or not it is still there.
type Put struct {
	Name, Incarnation string
	ModRev            int64
}

// Observe folds what the leader has seen since the last look into what it remembers. puts are all puts of node keys in
// between: a member whose key was there and is gone again has been silent only since now, however late the leader
// learns of it. After a lost watch the caller passes zero Observations, since it cannot know what it has missed.
func Observe(s Observations, v View, puts []Put, now time.Time) Observations {
	if v.Round == nil {
		return observeNoRound(s, v, now)
	}
	members := make([]Observation, len(v.Round.Members))
	if s.Store == v.Token && s.RunUID == v.Round.RunUID && s.Round == v.Round.Number && len(s.Member) == len(members) {
		copy(members, s.Member)
	}
	if len(puts) > 0 {
		there := make(map[string]int64, len(puts))
		for _, p := range puts {
			key := p.Name + "\x00" + p.Incarnation
			there[key] = max(there[key], p.ModRev)
		}
		for i, m := range v.Round.Members {
			if rev := there[m.Name+"\x00"+m.Incarnation]; rev > members[i].Rev {
				members[i].Rev, members[i].Silent = rev, time.Time{}
			}
		}
	}
	for i, m := range v.Round.Members {
		e, found := v.Nodes[m.Name]
		switch {
		case v.Candidates[CandidateName(m.Name, m.Incarnation)] && (!found || e.Incarnation != m.Incarnation || !e.Leased):
			members[i].Silent = time.Time{} // its lease lives
		case !found || e.Incarnation != m.Incarnation || e.Store != v.Token || !e.Leased:
			if members[i].Silent.IsZero() {
				members[i].Silent = now
			}
		default:
			members[i].Silent, members[i].Rev = time.Time{}, max(members[i].Rev, e.ModRev)
			members[i].Out = members[i].Out || e.gone() && e.Round >= v.Round.Number
			members[i].Done = members[i].Done || e.State == NodeDone && e.Round == v.Round.Number
		}
		switch echo := found && e.Incarnation == m.Incarnation && e.echoesIn(v.Round.Number); {
		case !echo:
			members[i].Echo = time.Time{}
		case members[i].Echo.IsZero():
			members[i].Echo = now
		}
	}
	return Observations{Store: v.Token, RunUID: v.Round.RunUID, Round: v.Round.Number, Member: members}
}

// observeNoRound remembers since when the record of the job's round is missing. Who was there, and falls silent before it
// has said that its workers are gone, may run them for a fence time more.
func observeNoRound(s Observations, v View, now time.Time) Observations {
	if v.Job == nil || v.Job.Round < 0 {
		return Observations{}
	}
	missing := s.Missing
	there := map[string]bool{}
	var working []string
	for name, e := range v.Nodes {
		id := CandidateName(name, e.Incarnation)
		if there[id] = e.Leased && e.Store == v.Token || v.Candidates[id]; there[id] && !e.gone() {
			working = append(working, id)
		}
	}
	fresh := missing.IsZero() || s.Store != v.Token || s.RunUID != v.Job.RunUID || s.Round != v.Job.Round
	if fresh || slices.ContainsFunc(s.Working, func(id string) bool { return !there[id] && !v.Candidates[id] }) {
		missing = now
	}
	return Observations{Store: v.Token, RunUID: v.Job.RunUID, Round: v.Job.Round, Missing: missing, Working: working}
}

// CandidateName is what an incarnation of a node puts into its key in the election.
func CandidateName(name, incarnation string) string { return name + " " + incarnation }

// Action names what a decision or a node's next step is. The model of the protocol uses the same names.
type Action string

// What the leader does. All but ActWait write the job's record.
const (
	ActWait    Action = "Wait"
	ActCreate  Action = "Create"  // the first record of a job
	ActRerun   Action = "Rerun"   // another run of the same job
	ActReopen  Action = "Reopen"  // a run that had ended with a verdict of retry goes on
	ActAdopt   Action = "Adopt"   // take over a newer record that a node has brought
	ActCommand Action = "Command" // handle commands from outside
	ActCall    Action = "Call"    // last call: there are enough nodes, more may come
	ActForm    Action = "Form"    // the next round begins
	ActAsk     Action = "Ask"     // the round's members are asked how far they are, for a save that all make
	ActSave    Action = "Save"    // it is agreed at which step
	ActStop    Action = "Stop"    // the round's members are to stop
	ActJudge   Action = "Judge"   // the root cause is known; the round will be restarted
	ActGather  Action = "Gather"  // everybody has stopped; wait for enough nodes
	ActSuspend Action = "Suspend"
	ActResume  Action = "Resume"
	ActBlame   Action = "Blame" // a host had a fault, and nothing else happens
	ActSucceed Action = "Succeed"
	ActFail    Action = "Fail"
	ActForget  Action = "Forget" // the record's time is over
)

// Decision is what the leader does next. Everything in it is one transaction, which compares View.JobRev and the
// revision of the leader's own election key.
type Decision struct {
	Action Action
	Job    *Job   // the next record; nil: nothing is written
	Round  *Round // a new round's record, put whether or not an older job has left one of this number
	// Remove are node keys that have served their purpose. They go only if they still have this revision.
	Remove []Removal
	// Controls are the ids of commands whose keys go.
	Controls []string
	// Hosts are the records of hosts that have changed, by name; nil: it goes.
	Hosts map[string]*Host
	// DropRound is the number of a round whose record is needed no more, -1 for none.
	DropRound int
	// Keep puts the job's record under a lease that long; 0 is for ever.
	Keep time.Duration
	// Forget deletes the job's record and those of all rounds; Remove lists the nodes' keys that go with them.
	Forget bool

	Why  WhyNot    // why nothing happens, for ActWait
	Next time.Time // when to decide again even if nothing changes; zero: only then
}

// Check says which record of the decision would be refused by whoever reads it. To write that would stop the job for good.
func (d Decision) Check() error {
	if d.Job != nil {
		if err := d.Job.check(); err != nil {
			return fmt.Errorf("the job's record: %w", err)
		}
	}
	if d.Round != nil {
		if err := d.Round.check(); err != nil {
			return fmt.Errorf("the record of round %d: %w", d.Round.Number, err)
		}
	}
	for name, h := range d.Hosts {
		if h == nil {
			continue
		}
		if err := h.check(); err != nil {
			return fmt.Errorf("the record of host %s: %w", cut(name), err)
		}
	}
	return nil
}

// Removal is a node's key at a revision.
type Removal struct {
	Name   string
	ModRev int64
}

// What a job waits for.
const (
	WaitsForNodes   = "nodes" // more are needed
	WaitsForLeaving = "stop"  // members have not yet said that their workers are gone
	WaitsForFence   = "fence" // members are silent
	WaitsForTime    = "time"  // backoff or last call
	// WaitsForCheckpoints: nodes have yet to say what they can resume from.
	WaitsForCheckpoints = "checkpoints"
	WaitsForStore       = "store"   // a new store: an old one's nodes may still run
	WaitsForWatch       = "watch"   // the leader's view is behind
	WaitsForUser        = "user"    // resume
	WaitsForRun         = "run"     // an older run still has live members
	WaitsForEnd         = "end"     // the round runs
	WaitsForOthers      = "nothing" // the job is finished
	WaitsForRecord      = "record"  // a record cannot be used
)

// WhyNot says why the job does not go on, for status, logs and the message of a timeout.
type WhyNot struct {
	For   string   `json:"for,omitempty"`
	Nodes []string `json:"nodes,omitempty"` // whom it is about, by name
	Text  string   `json:"text,omitempty"`  // a sentence
}
