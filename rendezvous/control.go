package rendezvous

import "time"

// What a command asks for.
const (
	VerbSuspend = "suspend" // stop, and wait for resume
	VerbResume  = "resume"
	VerbRestart = "restart" // a new round with the same nodes
	VerbStop    = "stop"    // end the run for good
	VerbUnban   = "unban"   // let a host take part again
)

// Control is a command from outside, under the key "control/<id>". It is handled once: its id stays with the job.
type Control struct {
	V    int    `json:"v"`
	ID   string `json:"id"`
	Verb string `json:"verb"`
	// RunUID and Round say what the command is about, where the sender knew; it is dropped when that is over.
	RunUID string    `json:"runUid,omitempty"`
	Round  *int      `json:"round,omitempty"`
	Host   string    `json:"host,omitempty"` // of unban
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
}
