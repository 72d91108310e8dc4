package serve

import (
	"slices"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
)

// mostMembers is how many members of a round are named; the others are counted.
const mostMembers = 24

// Job is what the job's record says, as far as this node has heard of it: nobody is asked for it, and nothing is
// written.
type Job struct {
	Phase    rendezvous.Phase `json:"phase"`
	Since    time.Time        `json:"since"`
	Round    int              `json:"round"` // -1 before the first
	MinNodes int              `json:"minNodes"`
	MaxNodes int              `json:"maxNodes"`
	// Members are those of the newest round: all, or those that say most. MemberCount is how many there are.
	Members     []Member `json:"members"`
	MemberCount int      `json:"memberCount"`
	Workers     int      `json:"workers"` // of all members
	// Steps is how far those have come that tell; left out where none does.
	Steps *Steps `json:"steps,omitempty"`
	// Stops are the latest, the newest last.
	Stops []Stop `json:"stops"`
	// Banned are the hosts that are kept out of the rounds.
	Banned  []Banned `json:"banned,omitempty"`
	Sizes   []int    `json:"sizes,omitempty"`          // of a round; none: any from MinNodes to MaxNodes
	Reached *int64   `json:"checkpointStep,omitempty"` // of the newest checkpoint that all nodes had
	End     *End     `json:"end,omitempty"`
}

// Member is a node of the newest round.
type Member struct {
	Rank  int    `json:"rank"`
	Name  string `json:"name"`
	Role  string `json:"role,omitempty"`
	Slots int    `json:"slots"`
	// Step, Phase and Checkpoint are the newest that the node has told of this round.
	Step       *int64 `json:"step,omitempty"`
	Phase      string `json:"phase,omitempty"`
	Checkpoint *int64 `json:"checkpointStep,omitempty"`
}

// Steps is how far the members have come.
type Steps struct {
	Told  int    `json:"told"` // how many members tell
	Least int64  `json:"least"`
	Most  int64  `json:"most"`
	Node  string `json:"node"` // the first that is least far
}

// Stop is why a round of the job has stopped, and on which node.
type Stop struct {
	Round   int       `json:"round"`
	Kind    string    `json:"kind"`
	Node    string    `json:"node,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"` // of the latest only
	At      time.Time `json:"at"`
}

// Banned is a host that is kept out, until when if nothing more happens there, and its last fault in words.
type Banned struct {
	Host  string    `json:"host"`
	Until time.Time `json:"until"`
	Why   string    `json:"why"`
}

// End is how the run of the job has ended.
type End struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	Code    int    `json:"code"`
}

// JobOf is what the records say, and how far the nodes have come; nil without a record. self is this node, which is
// always among those that are named.
func JobOf(j *rendezvous.Job, r *rendezvous.Round, reached map[string]*rendezvous.Reached, self string) *Job {
	if j == nil {
		return nil
	}
	job := &Job{
		Phase: j.Phase, Since: j.Since.UTC(), Round: j.Round, MinNodes: j.Spec.MinNodes, MaxNodes: j.Spec.MaxNodes,
		Members: []Member{}, Stops: []Stop{}, Reached: j.Reached, Sizes: j.Spec.Sizes,
	}
	for _, b := range j.Bans {
		job.Banned = append(job.Banned, Banned{Host: b.Host, Until: b.Until.UTC(), Why: b.Last.String()})
	}
	for _, p := range j.History {
		job.Stops = append(job.Stops,
			Stop{Round: p.Round, Kind: p.Kind, Node: p.Node, Reason: p.Reason, At: p.At.UTC()})
	}
	stop := j.Stop
	if e := j.End; e != nil {
		job.End = &End{Verdict: string(e.Verdict), Reason: e.Reason, Message: e.Message, Code: e.Code}
		if e.Cause != nil {
			stop = e.Cause
		}
	}
	if stop != nil {
		latest := Stop{
			Round:   stop.Round,
			Kind:    stop.Kind,
			Node:    stop.Node,
			Reason:  stop.Reason,
			Message: stop.Message,
			At:      stop.At.UTC(),
		}
		if n := len(job.Stops); n > 0 && job.Stops[n-1].Round == stop.Round {
			job.Stops = job.Stops[:n-1]
		}
		job.Stops = append(job.Stops, latest)
	}
	if r != nil {
		job.MemberCount = len(r.Members)
		job.members(r, reached, self)
	}
	return job
}

// members names those that have stopped a round, the one that has come least far, this node, and then the others in the
// order of their ranks.
func (job *Job) members(r *rendezvous.Round, reached map[string]*rendezvous.Reached, self string) {
	all := make([]Member, len(r.Members))
	for rank, m := range r.Members {
		job.Workers += m.Slots
		all[rank] = Member{Rank: rank, Name: m.Name, Role: m.Role, Slots: m.Slots}
		if p := reached[m.Name]; p != nil && p.Round == r.Number {
			all[rank].Step, all[rank].Phase, all[rank].Checkpoint = p.Step, p.Phase, p.Checkpoint
			job.reached(m.Name, p.Step)
		}
	}
	slowest := ""
	if s := job.Steps; s != nil && s.Least < s.Most {
		slowest = s.Node
	}
	var rest []Member
	for _, m := range all {
		if m.Name == self || m.Name == slowest || slices.ContainsFunc(job.Stops, func(s Stop) bool { return s.Node == m.Name }) {
			job.Members = append(job.Members, m)
		} else if len(rest) < mostMembers {
			rest = append(rest, m)
		}
	}
	job.Members = append(job.Members, rest[:min(len(rest), max(0, mostMembers-len(job.Members)))]...)
	slices.SortFunc(job.Members, func(a, b Member) int { return a.Rank - b.Rank })
}

// reached adds a member that tells.
func (job *Job) reached(name string, step *int64) {
	switch s := job.Steps; {
	case step == nil:
	case s == nil:
		job.Steps = &Steps{Told: 1, Least: *step, Most: *step, Node: name}
	default:
		s.Told++
		s.Most = max(s.Most, *step)
		if *step < s.Least {
			s.Least, s.Node = *step, name
		}
	}
}
