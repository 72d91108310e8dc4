package exitcodes

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/gangrun/gangrun/exitcodes/ascii"
)

// Sizes of an encoded message, in bytes.
const (
	// MinMessage is the smallest limit worth setting: verdict, reason, exit code and the start of a sentence fit.
	MinMessage = 256
	// DefaultMessage leaves room for six containers in one pod: the kubelet shares 12288 bytes among them.
	DefaultMessage = 2048
	// MaxMessage is the most that the kubelet reads of one file. It keeps the end of what is longer, and half a
	// JSON object helps nobody.
	MaxMessage = 4096
)

// messageVersion is the format's number, the value of the key "v".
const messageVersion = 1

// Message is what gangrun leaves behind for whoever looks at a container that has ended. Its JSON form is stable:
// keys may be added, but none changes its meaning as long as V stays 1. What is empty is left out, and pointers are
// used where zero says something.
type Message struct {
	// V is the format's version. Encode sets it and ParseMessage accepts only 1, so a writer need not fill it in.
	V int `json:"v"`
	// Verdict says what to do about the end.
	Verdict Verdict `json:"verdict"`
	// Reason is one CamelCase word for programs, such as OOMKilled.
	Reason string `json:"reason,omitempty"`
	// Message is a sentence for a person.
	Message string `json:"message,omitempty"`
	// ExitCode is what gangrun itself exits with.
	ExitCode int `json:"exitCode"`
	// WorkerExitCode is what the worker exited with, where it ran.
	WorkerExitCode *int `json:"workerExitCode,omitempty"`
	// Signal names the signal that ended the worker, such as SIGKILL.
	Signal string `json:"signal,omitempty"`
	// Job, Node and Role are names; Round counts from 0; Rank and LocalRank are those of the worker spoken of.
	Job       string `json:"job,omitempty"`
	Node      string `json:"node,omitempty"`
	Round     *int   `json:"round,omitempty"`
	Rank      *int   `json:"rank,omitempty"`
	LocalRank *int   `json:"localRank,omitempty"`
	Role      string `json:"role,omitempty"`
	// RootCause is the failure that the job's end goes back to; it may have happened on another node.
	RootCause *RootCause `json:"rootCause,omitempty"`
	// Restarts says how much of the budget is gone.
	Restarts *Restarts `json:"restarts,omitempty"`
	// Step is the last training step known to have been reached.
	Step *int64 `json:"step,omitempty"`
	// Checkpoint is the newest one that can be resumed from.
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	// RecoverySeconds is how long the last restart took, from the failure to the new start.
	RecoverySeconds float64 `json:"recoverySeconds,omitzero"`
	// StartedAt and FinishedAt are written in UTC, to the millisecond.
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// Hooks lists the exit hooks that ran, in order.
	Hooks []Hook `json:"hooks,omitempty"`
	// LogTail is the end of the worker's output.
	LogTail string `json:"logTail,omitempty"`
}

// RootCause is the first failure, the one that the others followed from.
type RootCause struct {
	Node     string    `json:"node,omitempty"`
	Rank     *int      `json:"rank,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	ExitCode *int      `json:"exitCode,omitempty"`
	Signal   string    `json:"signal,omitempty"`
	At       time.Time `json:"at,omitzero"`
	// Rule names the rule that decided, and Evidence quotes what it was decided by.
	Rule     string `json:"rule,omitempty"`
	Evidence string `json:"evidence,omitempty"`
}

// Restarts counts restarts without progress against their budget, and apart from them those after a node had said
// that it was leaving.
type Restarts struct {
	Used        int `json:"used"`
	Max         int `json:"max"`
	Preemptions int `json:"preemptions"`
}

// Checkpoint is one that can be resumed from. AgeSeconds is its age when the message was written.
type Checkpoint struct {
	Path       string  `json:"path,omitempty"`
	Step       *int64  `json:"step,omitempty"`
	AgeSeconds float64 `json:"ageSeconds,omitzero"`
}

// Hook is one exit hook and what it exited with.
type Hook struct {
	Name     string `json:"name"`
	ExitCode int    `json:"exitCode"`
}

// Encode returns the message as one JSON object on one line, in ASCII, without a newline at the end. It takes at most
// limit bytes; a limit above MaxMessage counts as MaxMessage, and one below 128 as 128. What does not fit is cut in a
// fixed order, the end of the log first; the verdict, the reason and the exit code stay longest. The result always
// parses. Bytes that are not UTF-8 come out as U+FFFD, and numbers and times that JSON cannot hold are left out.
func (m Message) Encode(limit int) []byte {
	return fit(m, min(max(limit, floor), MaxMessage))
}

// marshal writes the message as it is. It cannot fail once bounded has removed what JSON cannot hold.
func (m *Message) marshal() []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(m)
	return ascii.Escape(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}
