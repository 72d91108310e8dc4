package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// leaving is a store within gangrun that goes with the job: once a command was handled nobody opens a watch there.
type leaving struct {
	store.Store
	t       *testing.T
	job     rendezvous.Job
	watches int
	handled bool
}

func (s *leaving) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	res, err := s.Store.Commit(ctx, txn)
	for _, op := range txn.Then {
		id, command := strings.CutPrefix(op.Key, controls)
		if !command || err != nil {
			continue
		}
		s.handled, s.job.Suspend, s.job.Handled = true, true, []string{id}
		value, err := rendezvous.Encode(&s.job)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.Store.Commit(ctx, store.Txn{Then: []store.Op{store.Put(jobKey, value)}}); err != nil {
			s.t.Fatal(err)
		}
	}
	return res, err
}

func (s *leaving) Watch(ctx context.Context, selector string) store.Watcher {
	if s.watches++; s.handled {
		s.t.Error("a watch is opened after the command was left: a store that has gone with the job would not answer")
	}
	return s.Store.Watch(ctx, selector)
}

// TestTellLooksFirst: what becomes of a command is seen also where the store goes at once with the job.
func TestTellLooksFirst(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	memory := store.NewInMemory().Connect(nil)
	defer memory.Close()
	st := &leaving{Store: memory, t: t, job: *record(rendezvous.Forming)}
	if _, left, err := Tell(ctx, st, rendezvous.VerbSuspend, "", "me@here"); left || !errors.Is(err, ErrNoJob) {
		t.Fatalf("without a job: left %v, %v", left, err)
	}
	value, err := rendezvous.Encode(&st.job)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := memory.Commit(ctx, store.Txn{Then: []store.Op{store.Put(jobKey, value)}}); err != nil {
		t.Fatal(err)
	}
	s, left, err := Tell(ctx, st, rendezvous.VerbSuspend, "", "me@here")
	if err != nil || !left || !s.Job.Suspend || st.watches != 1 {
		t.Errorf("left %v, %v, %d watches, %+v", left, err, st.watches, s.Job)
	}
}

// TestToldWhileNobodyIsThere: who looks at a suspended job sees that it is told to resume.
func TestToldWhileNobodyIsThere(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	memory := store.NewInMemory().Connect(nil)
	defer memory.Close()
	job := *record(rendezvous.Suspended)
	job.Suspend = true
	value, err := rendezvous.Encode(&job)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := memory.Commit(ctx, store.Txn{Then: []store.Op{store.Put(jobKey, value)}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the job is suspended; gangrun resume continues it", "resume is accepted; it takes effect when a node joins"} {
		var s Status
		if err := Watch(ctx, memory, func(now Status) bool { s = now; return false }); err != nil || s.Why.Text != want {
			t.Errorf("%+v, %v, want %q", s.Why, err, want)
		}
		if _, left, err := Tell(ctx, memory, rendezvous.VerbResume, "", "me@here"); !left || !errors.Is(err, ErrNobodyThere) {
			t.Fatalf("left %v, %v", left, err)
		}
	}
}
