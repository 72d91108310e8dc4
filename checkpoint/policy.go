package checkpoint

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Policy is what a user asks of a checkpoint besides being whole.
type Policy struct {
	MaxAge time.Duration // 0: any age
	World  int           // number of ranks that will read it; 0 when not known
	// Owner is who may have written the checkpoints of a directory.
	Owner Owner
	// Ways complete the messages.
	Ways Ways
}

// Ways are how a person says that what lies in the directory is not what it seems, as sentences. The program has them, which
// has the flags; without them the messages end before.
type Ways struct {
	All     string // the narrowest first
	Ignore  string // what is none of the checkpoints is passed over
	Pattern string // what the checkpoints are called
}

// then is the text with a way behind it, where there is one.
func then(text, way string) string {
	if way == "" {
		return text
	}
	return text + "; " + way
}

// Owner says whose checkpoints a run may resume from.
type Owner string

// Whose checkpoints a run may resume from.
const (
	OwnerJob Owner = "job" // those of any run of a job of the same name; the default
	OwnerRun Owner = "run" // those of the same run alone
	OwnerAny Owner = "any"
)

// Run is one run of a job. Empty parts are not known.
type Run struct {
	Job string `json:"job,omitempty"`
	UID string `json:"runUid,omitempty"`
}

// mismatch says in what the writer differs from the reader, empty when it does not or when that is unknown.
func (o Owner) mismatch(writer, reader Run) string {
	switch {
	case o == OwnerAny:
	case writer.Job != "" && reader.Job != "" && writer.Job != reader.Job:
		return fmt.Sprintf("job %s wrote here, and this is job %s", writer.Job, reader.Job)
	case o == OwnerRun && writer.UID != "" && reader.UID != "" && writer.UID != reader.UID:
		return fmt.Sprintf("run %s wrote here, and this is run %s", writer.UID, reader.UID)
	}
	return ""
}

// Offer is what a node has to offer for the next round.
type Offer struct {
	// Steps are those of the checkpoints that it can resume from, newest first, in Unit; of these and of Identities the
	// newest 64 at most.
	Steps []int64
	Unit  format.Unit
	// Identities stand for those that say no step, newest first. They count where there are no Steps.
	Identities []string
	// Refused are the newer ones that it cannot resume from, and why. What was cut says no step: it is newer by its time.
	Refused []format.Checkpoint
	// Veto says why nothing may be started at all: the content is that of a training run, and to start from nothing
	// instead would lose it. Empty when there is no such reason.
	Veto *problem.Error
	// Asks says that Veto is a question: there is more than one training run here, and nothing tells which is meant.
	Asks bool
	// Warnings are sentences about what looks wrong and stops nothing.
	Warnings []string
	// Fresh says why a start from nothing is right, when there is nothing to resume from.
	Fresh string
	// Cut is the step of a save that this run began here and did not end, when there is nothing else: the first of all. It
	// is nil where there is more than one, or none that says its step.
	Cut *int64
}

// verdict is what one checkpoint is worth for a reader.
type verdict int

const (
	usable  verdict = iota
	ignored         // it says nothing: it was moved aside, or is being written
	model           // whole, and no training state
	state           // a training state, whole, and not to be resumed from
	torn            // cut while it was written
	ruined          // cut while it was written over an earlier one, which may have been whole
)

// newestFirst orders by steps, and what says none by when it was written: some say of which step they are only when they
// are looked into.
func newestFirst(a, b format.Checkpoint) int {
	if c := cmp.Compare(b.Step, a.Step); c != 0 || a.Step >= 0 {
		return c
	}
	switch { // a copy may be younger than what it is a copy of
	case a.WasBefore() && !b.WasBefore():
		return 1
	case b.WasBefore() && !a.WasBefore():
		return -1
	}
	return b.Modified.Compare(a.Modified)
}

// about names a checkpoint once in a sentence that mostly names it already.
func about(path, detail string) string {
	if strings.HasPrefix(detail, path) {
		return detail
	}
	return path + ": " + detail
}

// weigh says what one checkpoint is worth, and why it is not to be used. other says whose it is when it is not the
// reader's.
func (p Policy) weigh(c format.Checkpoint, m History, other string, now time.Time) (verdict, problem.Reason, string) {
	switch {
	case !c.Complete:
		switch c.Reason {
		case problem.PointerDangling, problem.PointerMalformed:
			return ignored, c.Reason, c.Detail
		case problem.InProgress:
			return torn, c.Reason, c.Detail
		}
		if c.InPlace && !c.First || c.Unmarked {
			return ruined, c.Reason, c.Detail
		}
		return torn, c.Reason, c.Detail
	case !c.Resumable && c.Training:
		return state, c.Reason, c.Detail
	case !c.Resumable:
		return model, c.Reason, c.Detail
	case m.superseded(c):
		return ignored, problem.Quarantined, "training failed twice after it, and went back behind it"
	case other != "":
		return state, problem.OtherRun, other
	case c.WorldSize > 0 && p.World > 0 && c.WorldSize != p.World && !c.Elastic:
		return state, problem.WorldSizeMismatch, fmt.Sprintf("%d ranks wrote it, and %d would read it", c.WorldSize, p.World)
	case c.Step < 0 && c.Identity == "":
		return state, problem.UnknownFormat, "it is whole, and nothing says of which step it is"
	case p.MaxAge > 0 && now.Sub(c.Modified) > p.MaxAge:
		return state, problem.TooOld, fmt.Sprintf("%v old, and at most %v are allowed", now.Sub(c.Modified).Round(time.Second), p.MaxAge)
	}
	return usable, "", ""
}
