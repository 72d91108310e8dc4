package agent

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

func newTestKeeper(t *testing.T, job string) (*keeper, *strings.Builder) {
	var log strings.Builder
	k := newKeeper(Config{
		KeepRecord: true, Checkpoints: &checkpoint.Directory{Path: t.TempDir()}, Job: job, Namespace: "ns", Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	return k, &log
}

func record(phase rendezvous.Phase) *rendezvous.Job {
	return &rendezvous.Job{
		V: 1, Store: "s", RunUID: "run-1", Seq: 4, Phase: phase, Since: time.Unix(1, 0), SinceSeq: 3, Round: -1, NextRound: 2,
		Spec: rendezvous.DefaultSpec(2),
	}
}

func TestKeptBesideCheckpoints(t *testing.T) {
	k, _ := newTestKeeper(t, "job")
	k.begin()
	k.keep(record(rendezvous.Suspended))
	k.close()
	for uid, found := range map[string]bool{"": true, "run-1": true, "run-2": false} {
		job, err := k.recall(uid)
		if err != nil || (job != nil) != found {
			t.Errorf("run %q: %+v, %v", uid, job, err)
		}
	}
	other := *k
	other.job = "another"
	if job, err := other.recall(""); job != nil || !errors.Is(err, errForeign) {
		t.Errorf("another job's record is taken: %+v, %v", job, err)
	}
	ended := record(rendezvous.Failed)
	ended.End = &rendezvous.End{}
	if err := k.write(ended); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(k.dir); len(entries) != 0 {
		t.Errorf("a job that has ended leaves %v", entries)
	}
}

func TestWhereNothingIsKept(t *testing.T) {
	if k, _ := newTestKeeper(t, ""); k != nil {
		t.Error("kept for a job without a name")
	}
	if newKeeper(Config{KeepRecord: true, Job: "job"}) != nil || newKeeper(Config{KeepRecord: true, Job: "job", Checkpoints: &checkpoint.Directory{}}) != nil {
		t.Error("kept without a directory of this machine")
	}
}

// TestAKeptRecordThatMakesNoSense is reported, and stays as it is.
func TestAKeptRecordThatMakesNoSense(t *testing.T) {
	for _, text := range []string{`{`, `{"v":2,"job":"job"}`, `{"v":1,"job":"job","namespace":"ns","record":{"v":9}}`} {
		k, _ := newTestKeeper(t, "job")
		if err := os.WriteFile(filepath.Join(k.dir, checkpoint.RecordFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if job, err := k.recall(""); job != nil || err == nil {
			t.Errorf("%s: %+v, %v", text, job, err)
		}
	}
}

func FuzzKept(f *testing.F) {
	good, err := json.Marshal(record(rendezvous.Running))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"v":1,"job":"job","record":` + string(good) + `}`))
	f.Add([]byte(`{"v":1,"job":"job","record":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		job, err := parseKept(data, "job", "")
		if err != nil || job == nil {
			return
		}
		if a := job.Abandoned(time.Unix(2, 0)); a != nil {
			if _, err := rendezvous.Encode(a); err != nil {
				t.Errorf("%s: %v", data, err)
			}
		}
	})
}

// TestAStaleRecordDoesNotStopALiveJob is a node that comes late, and finds beside its checkpoints what an earlier run of
// the job has left there.
func TestAStaleRecordDoesNotStopALiveJob(t *testing.T) {
	dir := t.TempDir()
	k := newKeeper(Config{KeepRecord: true, Checkpoints: &checkpoint.Directory{Path: dir}, Job: "job", Namespace: "ns"})
	stale := record(rendezvous.Running)
	stale.Round, stale.NextRound, stale.Seq = 6, 7, 70
	if err := k.write(stale); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		spec := rendezvous.DefaultSpec(2)
		spec.MinNodes, spec.LastCall = 1, rendezvous.Duration(time.Second)
		m := store.NewInMemory()
		first := join(t, m.Connect(clock), "node0", spec, nil)
		first.starts(0)
		join(t, m.Connect(clock), "node1", spec, func(c *Config) {
			c.KeepRecord, c.Job, c.Namespace, c.Checkpoints = true, "job", "ns", directory(dir)
		})
		first.hearsNothing()
		first.Gone(0, well, nil)
		first.ends()
	})
}
