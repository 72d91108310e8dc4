package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/internal/latest"
	"github.com/gangrun/gangrun/rendezvous"
)

// kept is the job's record as it is kept beside its checkpoints. A store within gangrun is gone with its nodes; this is
// what a suspended job resumes from, and what knows of its budget when everything was killed at once.
type kept struct {
	V         int             `json:"v"`
	Job       string          `json:"job"`
	Namespace string          `json:"namespace,omitempty"`
	Record    json.RawMessage `json:"record"`
}

const keptVersion = 1

// errForeign says that what is kept is another job's.
var errForeign = errors.New("another job keeps its record there")

// parseKept reads a record that was kept; that of another job is errForeign.
func parseKept(data []byte, name, namespace string) (*rendezvous.Job, error) {
	var k kept
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, fmt.Errorf("%s: %w", checkpoint.RecordFile, err)
	}
	if k.V != keptVersion {
		return nil, fmt.Errorf("%s: version %d, and this gangrun knows %d", checkpoint.RecordFile, k.V, keptVersion)
	}
	if k.Job != name || k.Namespace != namespace {
		return nil, fmt.Errorf("%s: %w: %.40q in namespace %.40q", checkpoint.RecordFile, errForeign, k.Job, k.Namespace)
	}
	return rendezvous.ParseJob(checkpoint.RecordFile, k.Record)
}

// keeper keeps the newest record beside the checkpoints. File servers take their time, and the leader must not.
type keeper struct {
	dir, job, namespace string
	log                 *slog.Logger
	newest              *latest.Writer[*rendezvous.Job] // nil until begin
}

// newKeeper returns nil where nothing can be kept: without a directory of this machine, or for a job without a name,
// which could not be told from another.
func newKeeper(cfg Config) *keeper {
	if !cfg.KeepRecord || cfg.Checkpoints == nil || cfg.Checkpoints.Path == "" || cfg.Job == "" {
		return nil
	}
	return &keeper{dir: cfg.Checkpoints.Path, job: cfg.Job, namespace: cfg.Namespace, log: cfg.Log}
}

// recall reads what was kept, as far as it concerns this node: not the record of another run. The error is also about one
// that cannot be read, or is another job's; it stays where it is, and nothing is kept.
func (k *keeper) recall(runUID string) (*rendezvous.Job, error) {
	data, err := checkpoint.ReadRecord(k.dir)
	if err != nil || data == nil {
		return nil, err
	}
	job, err := parseKept(data, k.job, k.namespace)
	if err != nil || runUID != "" && runUID != job.RunUID {
		return nil, err
	}
	return job.Abandoned(time.Now()), nil
}

// begin begins to keep.
func (k *keeper) begin() {
	k.newest = latest.NewWriter(k.write, func(err error) {
		k.log.Warn("cannot keep the job's record beside the checkpoints", "err", err)
	})
}

// write keeps a record; one of a job that has ended is of no use to anybody.
func (k *keeper) write(job *rendezvous.Job) error {
	if job.End != nil {
		return checkpoint.WriteRecord(k.dir, nil)
	}
	record, err := rendezvous.Encode(job)
	if err != nil {
		return err
	}
	data, err := json.Marshal(kept{V: keptVersion, Job: k.job, Namespace: k.namespace, Record: record})
	if err != nil {
		return err
	}
	return checkpoint.WriteRecord(k.dir, append(data, '\n'))
}

// forget takes away the record of a job that has ended, where this node kept one when it led. It never waits: a leader that
// has just had the end kept does the same.
func (k *keeper) forget(job *rendezvous.Job) { k.newest.Offer(job) }

// keep has a record kept. There is one caller, the leader.
func (k *keeper) keep(job *rendezvous.Job) { k.newest.Put(job) }

// keepTime bounds how long the end of a node waits for the last record to be kept.
const keepTime = 2 * time.Second

func (k *keeper) close() {
	if !k.newest.Close(keepTime) {
		k.log.Warn("the job's record could not be kept in time")
	}
}

// recall looks for a record that was kept, before the node says anything to the others. Nothing goes on before that, as
// nothing could without the checkpoints.
func (n *node) recall() {
	k := newKeeper(n.cfg)
	if k == nil {
		return
	}
	n.recalling = true
	time.AfterFunc(recallTime, func() { n.report((*node).recallLate) })
	n.inBackground(func() func(*node) {
		job, err := k.recall(n.cfg.Node.RunUID)
		return func(n *node) {
			if !n.recalling {
				return // too late: nothing is kept either
			}
			n.recalling = false
			if err != nil {
				n.log.Warn("none of the records of this job will be kept beside its checkpoints", "err", err)
				return
			}
			k.begin()
			n.keeper.Store(k)
			if job != nil {
				n.log.Debug("found the job's record beside its checkpoints", "phase", job.Phase, "round", job.NextRound-1)
				n.record.Carried, n.recalled = job, true
			}
		}
	})
}

// recallTime bounds how long a node waits for a file server to tell what was kept.
const recallTime = 15 * time.Second

// recallLate continues without.
func (n *node) recallLate() {
	if n.recalling {
		n.recalling = false
		n.log.Warn("cannot read whether a record of this job is kept beside its checkpoints; continuing without", "waited", recallTime)
	}
}
