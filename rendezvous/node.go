package rendezvous

import (
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// State is where a node stands with its workers.
type State string

// The states of a node. All but Waiting are about a round, the one in Node.Round.
const (
	NodeWaiting State = "waiting" // it has not run a round yet
	NodeRunning State = "running" // its workers run, or are about to
	NodeStopped State = "stopped" // the last process of its workers is gone
	NodeDone    State = "done"    // its workers have succeeded and are gone
	NodeLeft    State = "left"    // it has gone for good, and its workers before it
)

// Node is the record that a node writes about itself, under the key "nodes/<name>".
type Node struct {
	V int `json:"v"`
	// Store is the token of the store that the node believes it writes to.
	Store string `json:"store"`
	// RunUID is the run that the node belongs to: what it was told, else that of the record it found, else empty.
	RunUID      string `json:"runUid,omitempty"`
	Incarnation string `json:"incarnation"`
	BootID      string `json:"bootId,omitempty"`
	PIDNS       string `json:"pidNs,omitempty"`
	// Host is the machine that it runs on, where somebody has named it. See HostName.
	Host string `json:"host,omitempty"`
	// Unique is set where the operator never runs two pods of this name at once.
	Unique  bool   `json:"unique,omitempty"`
	Address string `json:"address,omitempty"`
	Port    int    `json:"port,omitempty"` // reserved for the next round's master
	Slots   int    `json:"slots"`          // workers
	Role    string `json:"role,omitempty"`
	Pin     *int   `json:"pin,omitempty"`  // the rank that the operator has given it
	Rank    *int   `json:"rank,omitempty"` // the rank in the last round that it ran

	SpecHash string `json:"specHash"`
	Spec     *Spec  `json:"spec,omitempty"` // where no job of this spec was found

	State   State `json:"state"`
	Round   int   `json:"round"`             // -1 before the first
	Leaving bool  `json:"leaving,omitempty"` // it goes for good, as soon as its workers are gone
	// Sick is why its machine is not fit to train; then it leaves.
	Sick string `json:"sick,omitempty"`
	// Asks is set where it leaves, and its workers wait to hear at which step all save before they go.
	Asks    bool     `json:"asks,omitempty"`
	Service *Service `json:"service,omitempty"`
	// Outcome is what happened to its workers, OutcomeRev the revision of the put that first told of it; 0 stands for
	// this one.
	Outcome    *Outcome `json:"outcome,omitempty"`
	OutcomeRev int64    `json:"outcomeRev,omitempty"`

	Checkpoints *Checkpoints `json:"checkpoints,omitempty"` // nil: it has not looked
	Step        *int64       `json:"step,omitempty"`        // the last step that its workers have reported

	ReadSeq int64 `json:"seen,omitempty"` // the Seq of the last job record it has read
	// Next is the number of the job's next round, as far as it has heard, where that is not the one after Round.
	Next int `json:"next,omitempty"`
	// ReopenSeq is the Seq of the finished record that the node found when it came, where it comes to train again.
	ReopenSeq int64 `json:"reopens,omitempty"`
	// Replaces is the farewell of the incarnation whose key this one took the place of.
	Replaces *Farewell `json:"after,omitempty"`
	// Carried is the last record the node has seen, where this store holds none or an older one.
	Carried *Job `json:"brings,omitempty"`
}

// Farewell says that an incarnation has left for good after a round, its workers gone.
type Farewell struct {
	Incarnation string `json:"incarnation"`
	Round       int    `json:"round"`
}

// Outcome is what became of the workers of one node in one round.
type Outcome struct {
	Store          string            `json:"store"`
	RunUID         string            `json:"runUid"`
	Round          int               `json:"round"`
	Verdict        exitcodes.Verdict `json:"verdict"`
	Reason         string            `json:"reason,omitempty"`
	Message        string            `json:"message,omitempty"`
	Code           int               `json:"code"`
	Role           string            `json:"role,omitempty"` // root, suspect or cascade; empty: not a cause
	Rule           string            `json:"rule,omitempty"`
	Evidence       string            `json:"evidence,omitempty"`
	Rank           int               `json:"rank"`
	LocalRank      int               `json:"localRank"`
	ExitCode       *int              `json:"exitCode,omitempty"`
	Signal         int               `json:"signal,omitempty"`
	WorkerCode     *int              `json:"workerCode,omitempty"`
	At             time.Time         `json:"at,omitzero"`
	NodeFault      bool              `json:"elsewhere,omitempty"`
	CodeOverridden bool              `json:"overruled,omitempty"`
	// RestartsAlone is set where the node starts its workers again by itself.
	RestartsAlone bool `json:"again,omitempty"`
	// Names are ranks that the evidence names as where it began. Said is what a worker that was stopped had said of a failure
	// of its own; without a verdict beside it, no worker of the node failed by itself.
	Names []int `json:"names,omitempty"`
	// Hosts are those that it names as the other end of a lost connection.
	Hosts []string `json:"hosts,omitempty"`
	Said  *Said    `json:"said,omitempty"`
}

// Said is what a worker that was stopped for another's failure had said of one of its own: a root cause, or nothing.
type Said struct {
	Verdict   exitcodes.Verdict `json:"verdict"`
	Code      int               `json:"code"`
	Reason    string            `json:"reason"`
	Rule      string            `json:"rule,omitempty"`
	Evidence  string            `json:"evidence"`
	Rank      int               `json:"rank"`
	LocalRank int               `json:"localRank"`
}

// The most that crosses of what names others, and of what a stopped worker had said.
const (
	maxNames        = 16
	maxNamedHosts   = 4
	maxHost         = 64
	maxSaidRule     = 64
	maxSaidEvidence = 300
)

// OutcomeOf is a finding about a node's workers as it stands in the node's record. Texts are cut.
func OutcomeOf(f exitcodes.Finding, store, runUID string, round int) Outcome {
	o := Outcome{
		Store: store, RunUID: runUID, Round: round,
		Verdict: f.Verdict, Reason: cut(f.Reason), Message: cut(f.Message), Code: f.Code,
		Rule: cut(f.Rule), Evidence: cut(f.Evidence), Rank: f.Rank, LocalRank: f.LocalRank,
		ExitCode: f.ExitCode, Signal: f.Signal, WorkerCode: f.WorkerCode, At: f.At, NodeFault: f.NodeFault,
		CodeOverridden: f.CodeOverridden, Names: f.Names[:min(len(f.Names), maxNames)],
		Hosts: f.Hosts[:min(len(f.Hosts), maxNamedHosts)], Said: saidOf(f.Said),
	}
	if f.Role >= exitcodes.RoleCascade {
		o.Role = f.Role.String()
	}
	return o
}

// saidOf is what crosses of the words of a stopped worker.
func saidOf(f *exitcodes.Finding) *Said {
	if f == nil || f.Role != exitcodes.RoleRoot {
		return nil
	}
	return &Said{
		Verdict: f.Verdict, Code: f.Code, Reason: cutTo(f.Reason, maxSaidRule), Rule: cutTo(f.Rule, maxSaidRule),
		Evidence: cutTo(f.Evidence, maxSaidEvidence), Rank: f.Rank, LocalRank: f.LocalRank,
	}
}

// finding is what [saidOf] was given, as far as it crosses.
func (s *Said) finding() *exitcodes.Finding {
	if s == nil {
		return nil
	}
	f := exitcodes.Finding{
		Verdict: s.Verdict, Code: s.Code, Reason: s.Reason, Role: exitcodes.RoleRoot, Rule: s.Rule, Evidence: s.Evidence,
		Rank: s.Rank, LocalRank: s.LocalRank, CodeOverridden: s.Code == exitcodes.CodeRetryableByRule,
	}
	f.Message = f.HadFailed()
	return &f
}

// Finding is what [OutcomeOf] was given, as far as it crosses from node to node.
func (o *Outcome) Finding() exitcodes.Finding {
	return exitcodes.Finding{
		Verdict: o.Verdict, Reason: o.Reason, Message: o.Message, Code: o.Code, Role: o.role(),
		Rule: o.Rule, Evidence: o.Evidence, Rank: o.Rank, LocalRank: o.LocalRank,
		ExitCode: o.ExitCode, Signal: o.Signal, WorkerCode: o.WorkerCode, At: o.At, NodeFault: o.NodeFault,
		CodeOverridden: o.CodeOverridden, Names: o.Names, Hosts: o.Hosts, Said: o.Said.finding(),
	}
}

func (o *Outcome) role() exitcodes.Role {
	switch o.Role {
	case exitcodes.RoleRoot.String():
		return exitcodes.RoleRoot
	case exitcodes.RoleSuspect.String():
		return exitcodes.RoleSuspect
	case exitcodes.RoleCascade.String():
		return exitcodes.RoleCascade
	}
	return exitcodes.RoleNone
}

// failed reports whether the outcome is a failure, neither a success nor a stop that was asked for.
func (o *Outcome) failed() bool {
	return o.Verdict == exitcodes.Retry || o.Verdict == exitcodes.Fatal
}

// echoes reports whether the failure may be the consequence of another one, elsewhere.
func (o *Outcome) echoes() bool {
	return o.failed() && (o.role() == exitcodes.RoleCascade || o.role() == exitcodes.RoleSuspect)
}

// hangs reports whether the workers got nowhere.
func (o *Outcome) hangs() bool { return o != nil && o.Reason == exitcodes.ReasonHang }

// echoesIn reports whether the node tells of such a failure in a round.
func (n *Node) echoesIn(round int) bool {
	return n.Outcome != nil && n.Outcome.Round == round && n.Outcome.echoes()
}

// End is how the round went on this node as far as it knows by itself.
func (o *Outcome) End() (exitcodes.Verdict, string) {
	if s := o.Said; s != nil && o.role() < exitcodes.RoleRoot {
		return s.Verdict, s.Reason
	}
	return o.Verdict, o.Reason
}

// Outranks reports whether the outcome is more likely to be the root cause than another one of the same node.
func (o *Outcome) Outranks(other *Outcome) bool { return o.role() > other.role() }

// cutOff reports whether the node has stopped its workers itself, because it could not reach the store.
func (o *Outcome) cutOff() bool { return o.Reason == exitcodes.ReasonStoreLost && o.Role == "" }

// CutOff is the outcome of a node that has stopped its workers because it could not reach the store.
func CutOff(store, runUID string, round int, at time.Time) Outcome {
	return Outcome{
		Store: store, RunUID: runUID, Round: round, Verdict: exitcodes.Retry, Reason: exitcodes.ReasonStoreLost,
		Code: exitcodes.CodeStoreLost, Message: "the store could not be reached for too long",
		Rank: -1, LocalRank: -1, At: at,
	}
}

// gone reports whether the node says that no process of its workers is left.
func (n *Node) gone() bool { return n.State != NodeRunning }
