package agent

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/rendezvous"
)

func newTestKeeper(t *testing.T, job string) (*keeper, *strings.Builder) {
	var log strings.Builder
	k := newKeeper(Config{
		Checkpoints: &checkpoint.Directory{Path: t.TempDir()}, Job: job, Namespace: "ns", Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	return k, &log
}

func record(phase rendezvous.Phase) *rendezvous.Job {
	return &rendezvous.Job{
		V: 1, Store: "s", RunUID: "run-1", Seq: 4, Phase: phase, Since: time.Unix(1, 0), SinceSeq: 3, Round: -1, Next: 2,
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
	if job, err := other.recall(""); job != nil || err != nil {
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
	if newKeeper(Config{Job: "job"}) != nil || newKeeper(Config{Job: "job", Checkpoints: &checkpoint.Directory{}}) != nil {
		t.Error("kept without a folder of this machine")
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
