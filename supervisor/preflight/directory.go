package preflight

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Directory is the result of a try to write to a directory. A process of its own tries it, since a file server that is gone
// blocks any process that asks it.
type Directory struct {
	Path    string        `json:"path"`
	Made    bool          `json:"made"` // it is there
	Local   bool          `json:"local"`
	Size    uint64        `json:"size"`    // of its file system, in bytes
	Free    uint64        `json:"free"`    // of that, in bytes
	Latency time.Duration `json:"latency"` // of a small file: written, synced, removed
	Error   string        `json:"error,omitempty"`
	// Failure is what kind of error it was.
	Failure Failure `json:"failure,omitempty"`
}

// Failure is what kind of error a directory gave.
type Failure string

// The kinds of errors.
const (
	FailureBroken Failure = "broken" // the disk or the file server gives errors
	FailureFull   Failure = "full"
	FailureDenied Failure = "denied" // and any other, which the machine may have nothing to do with
)

// slowWrite is how long a small write may take before it is worth a word.
const slowWrite = time.Second

// JudgeDirectory says what the output of the process means that has tried to write to the directory at path.
func JudgeDirectory(probe, path string, o Output) Result {
	var d Directory
	switch {
	case o.Late > 0:
		return sick(probe, "have the disk or the file server checked",
			"%s did not take a small file within %v: the disk is stuck, or the file server does not answer", path, o.Late)
	case o.Err != nil || o.Absent:
		return note(probe, "", "%s: not checked: the process for it could not be started: %v", path, o.Err)
	case json.Unmarshal(bytes.TrimSpace(o.Text), &d) != nil:
		return note(probe, "", "%s: not checked: the process for it %s", path, o.ended())
	}
	space := fmt.Sprintf("%s free of %s", size(d.Free), size(d.Size))
	switch {
	case !d.Made && d.Error == "":
		return ok(probe, "%s is not there yet", path)
	case d.Failure == FailureBroken:
		return sick(probe, "run elsewhere, and have the disk or the file server checked",
			"%s cannot be used: %s", path, plain(d.Error))
	case d.Failure == FailureFull && d.Local:
		return sick(probe, "make room: this machine's disk is full", "%s is full (%s): %s", path, space, plain(d.Error))
	case d.Failure == FailureFull: // all nodes have it: no other one does better
		return note(probe, "make room on the file server", "%s is full (%s): %s", path, space, plain(d.Error))
	case d.Error != "":
		return note(probe, "", "%s cannot be written to: %s", path, plain(d.Error))
	case d.Latency > slowWrite:
		return note(probe, "saves will take long",
			"%s took %v for a small file; %s", path, d.Latency.Round(time.Millisecond), space)
	case d.Size > 0 && d.Free < d.Size/100:
		return note(probe, "make room", "%s is nearly full: %s", path, space)
	}
	return ok(probe, "%s took %v for a small file; %s", path, d.Latency.Round(10*time.Microsecond), space)
}

func size(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	f, i := float64(n), 0
	for ; f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	return fmt.Sprintf("%.4g %s", f, units[i])
}
