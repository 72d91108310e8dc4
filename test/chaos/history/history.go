// Package history is what a job leaves behind that was broken on purpose: what its workers wrote down, what was done to
// it, and how its nodes ended. It is all that the checker is told.
package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Kind is what a worker has written down.
type Kind string

// What a worker writes down.
const (
	Open    Kind = "open"    // it begins, with what it was given to resume from
	Beside  Kind = "beside"  // it sees a process of another round alive
	Foreign Kind = "foreign" // rank 0 was called by a worker of another round
	Stepped Kind = "step"
	Save    Kind = "save"  // it begins to save
	Saved   Kind = "saved" // the checkpoint is whole and on the disk
	Cut     Kind = "cut"   // half of it is, and no more will be
	Lost    Kind = "lost"  // another rank is gone
	Done    Kind = "done"  // it has trained to the end
)

// Record is one line of a worker.
type Record struct {
	At       int64 // CLOCK_BOOTTIME in nanoseconds, which all workers of a machine share
	Kind     Kind
	Node     string
	Pod      int // the how manieth gangrun of that node
	Round    int
	Rank     int
	World    int
	Step     int
	State    string `json:",omitempty"`
	Made     int    `json:",omitempty"` // the round that has saved what it was given
	Decision string `json:",omitempty"` // what gangrun said of resuming
	Path     string `json:",omitempty"`
	Meet     string `json:",omitempty"` // where the ranks meet
	Text     string `json:",omitempty"`
}

// Starved is the kind of what nobody did: the test itself got no processor time for seconds.
const Starved = "starved"

// Fault is something that was done to the job.
type Fault struct {
	Kind     string
	Node     string // whom; empty: all, or a worker
	From, To int64  // as in Record; To is 0 for what does not last
	Long     bool   // a gangrun that got no processor time for longer than anybody can wait for it
}

// End is how one gangrun ended.
type End struct {
	Node    string
	Pod     int
	At      int64
	Code    int
	Killed  bool            // by the test, with SIGKILL
	Told    int64           // when the test sent it SIGTERM; 0 if it did not
	Message json.RawMessage // the termination log, nil when there is none
}

// Write is one version of the job's record in the store. Its Seq grows by one with every write. One without a run says
// that the record was deleted.
type Write struct {
	Run   string `json:"runUid"`
	Seq   int64  `json:"seq"`
	Round int    `json:"round"`
}

// Job is all of it.
type Job struct {
	Nodes   int
	Ranks   int            // on each
	Elastic bool           // fewer nodes may do
	Pinned  map[string]int // node to its rank, where the ranks were given
	Own     bool           // each node saves in a directory of its own
	Half    time.Duration  // without the store the workers are gone after so long
	Fatal   string         // the node on which a worker was told to fail for good at the end; empty for none
	Step    time.Duration  // of training
	Records []Record
	Faults  []Fault
	Writes  []Write // in order, as an etcd that watches has told
	Ends    []End
	Left    []string // what was alive after the last gangrun had ended
	Stuck   string   // why the job had to be given up; empty when it came to its end
}

// Now is the time as in Record.
func Now() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// State is what training has come to after a step, whoever trains and however often it was interrupted.
func State(before string, step int) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(before, " ", step)))
	return hex.EncodeToString(sum[:])
}

// Read is what the workers have written into a directory. A line that was cut by its writer's death does not count.
func Read(dir string) (records []Record, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(data) {
			var r Record
			if !bytes.HasSuffix(line, []byte("\n")) {
				continue
			}
			if err := json.Unmarshal(line, &r); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", file, line, err)
			}
			records = append(records, r)
		}
	}
	return records, nil
}
