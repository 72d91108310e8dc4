package rendezvous

import (
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// version is the number of the records' format, the value of their key "v".
const version = 1

// Phase is where a job stands.
type Phase string

// The phases of a job.
const (
	Forming   Phase = "Forming"   // waiting for nodes; no round runs
	Running   Phase = "Running"   // the round's members run their workers
	Stopping  Phase = "Stopping"  // the round's members stop their workers and say so
	Suspended Phase = "Suspended" // nothing runs until somebody resumes it
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
)

// finished reports whether nothing more happens in this run.
func (p Phase) finished() bool { return p == Succeeded || p == Failed }

// Bounds of a job's record, which every node reads at every change.
const (
	maxHistory = 16
	newHistory = 5 // of which so many are written: every node is sent them with each change of the record
	maxHandled = 64
	maxRecent  = 256
	maxRoles   = 64
	maxText    = 1024 // bytes of one text
	maxName    = 256  // bytes of one name
)

// Job is the record that the leader alone writes, under the key "job".
type Job struct {
	V int `json:"v"`
	// Store is the token of the store that this was written to. A record of another store was brought by a node.
	Store  string `json:"store"`
	RunUID string `json:"runUid"`
	// Seq grows by one with every write; of two records of one run the higher is the newer.
	Seq   int64 `json:"seq"`
	Phase Phase `json:"phase"`
	// At is when this was written, by the clock of the leader of that time, as are the other times: see Moved.
	At time.Time `json:"at,omitzero"`
	// Since is when the phase began, and SinceSeq the Seq it began with.
	Since    time.Time `json:"since"`
	SinceSeq int64     `json:"sinceSeq"`
	// Round is the newest round whose record is in this store, -1 before the first. NextRound is the number of the one
	// after it; it is higher than Round+1 where an earlier store has used the numbers between.
	Round     int  `json:"round"`
	NextRound int  `json:"next"`
	Spec      Spec `json:"spec"`
	// MembersGone is set once no member of Round can have workers any more. It spares a later lead to wait for the fence of
	// those that have gone since.
	MembersGone bool `json:"clear,omitempty"`
	// SettledStore is the token of the store if that was a new one for which a whole fence was waited: only then the workers of an
	// earlier store have written their last checkpoint.
	SettledStore string `json:"quiet,omitempty"`

	// Stop says why the round stops, or why the last one did.
	Stop *Stop `json:"stop,omitempty"`
	// Suspend is set from a suspend command until the job is resumed. A job that is Suspended without it was left by
	// all its nodes, and the next node that joins resumes it.
	Suspend bool `json:"suspend,omitempty"`
	// Save is the save that all ranks of the round are to make before it stops, or have made.
	Save *Save `json:"save,omitempty"`
	// End is how the run ended, for the phases Succeeded and Failed.
	End *End `json:"end,omitempty"`

	Budget Budget `json:"budget"`
	// NotBefore is when the next round may start: the backoff between restarts.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// QuorumSince is since when there have been enough nodes for a round, while the last call lasts.
	QuorumSince time.Time `json:"enough,omitzero"`
	// Reached is the newest checkpoint step that all members had: resuming below it would be a silent loss.
	Reached *int64 `json:"reached,omitempty"`
	// Fallback asks for the checkpoint before the newest, after the same failure at the same step.
	Fallback bool `json:"fallback,omitempty"`

	// Clock is by how much the job's clock is ahead of the leader's that has written this. It is that of the first leader,
	// continued by whoever leads: a ban lasts for hours, and over leaders whose clocks differ.
	Clock Duration `json:"clock,omitempty"`
	// Bans are the hosts that are kept out of the rounds, as of this writing.
	Bans []Ban `json:"bans,omitempty"`

	Handled []string `json:"handled,omitempty"` // ids of the latest commands that were handled
	History []Past   `json:"history,omitempty"` // the latest stops; told says how they are stored
}

// Why a round stops.
const (
	StopFailure   = "failure"   // a worker failed
	StopDeparture = "departure" // a node said that it was leaving
	StopLoss      = "loss"      // a node went without a word
	StopStore     = "store"     // a node could not reach the store and has stopped its workers
	StopGrow      = "grow"      // there are nodes to admit
	StopRestart   = "restart"   // asked for
	StopSuspend   = "suspend"   // asked for
	StopAdopt     = "adopt"     // a newer record of this job has turned up
)

// Stop is the end of one round. Kind, Node, Reason and Message are what made the leader stop it; once Judged is set, they
// are the root cause.
type Stop struct {
	Round   int       `json:"round"`
	Kind    string    `json:"kind"`
	Node    string    `json:"node,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at"`
	Judged  bool      `json:"judged,omitempty"`
	// Charged is set once the budget has paid for it: with checkpoints to look at, not before it is known how far
	// training had come.
	Charged bool `json:"charged,omitempty"`
	// Silence is for how long nothing had been heard of the node then, where that is why.
	Silence Duration `json:"silence,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"` // of the root cause, where it was a worker
}

// End is how a run ended; every node exits with it.
type End struct {
	Verdict exitcodes.Verdict `json:"verdict"`
	Reason  string            `json:"reason"`
	Message string            `json:"message,omitempty"`
	Code    int               `json:"code"`
	Cause   *Stop             `json:"cause,omitempty"`
	// Spent is set where a limit on the restarts ends the run. Its words and then those of the cause are the Message, which
	// is all that earlier releases have written and read.
	Spent *Spent    `json:"spent,omitempty"`
	At    time.Time `json:"at"`
	// By is the node whose lead has written it. It is the one that does what is to be done once at the end of the job,
	// so that this does not happen twice when the leader changes afterwards. Not set where a node ends alone.
	By Author `json:"by,omitzero"`
}

// Author is one gangrun: the node's name, and the incarnation that tells it from another one of that name.
type Author struct {
	Name        string `json:"name"`
	Incarnation string `json:"incarnation"`
}

// clone copies what the transition function may change.
func (j *Job) clone() *Job {
	c := *j
	c.Handled = slices.Clone(j.Handled)
	c.History = slices.Clone(j.History)
	c.Bans = slices.Clone(j.Bans)
	c.Budget.Recent = slices.Clone(j.Budget.Recent)
	if j.Stop != nil {
		stop := *j.Stop
		c.Stop = &stop
	}
	return &c
}

// enter begins a phase.
func (j *Job) enter(p Phase, now time.Time) {
	j.Phase, j.Since, j.SinceSeq = p, now.UTC(), j.Seq+1
	j.QuorumSince = time.Time{}
}

// Newer reports whether j is a later record of the job than other.
func (j *Job) Newer(other *Job) bool {
	if j.NextRound != other.NextRound {
		return j.NextRound > other.NextRound
	}
	return j.Seq > other.Seq
}

// last keeps the newest n of a list.
func last[T any](list []T, n int) []T {
	if len(list) > n {
		list = list[len(list)-n:]
	}
	return list
}
