package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous/store"
)

func end(t *testing.T, open func(string) store.Store) {
	s := open("")
	ctx, stop := context.WithCancel(t.Context())
	updates := s.Watch(ctx, "").Updates()
	stop()
	drained(t, "the watch whose context ended", updates)
	updates = s.Watch(t.Context(), "").Updates()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	drained(t, "the watch of a closed store", updates)
	drained(t, "a watch after the end", s.Watch(t.Context(), "").Updates())
	if _, err := s.Commit(t.Context(), store.Txn{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("commit after the end: %v", err)
	}
	if _, err := s.Join(t.Context(), time.Second); !errors.Is(err, store.ErrClosed) {
		t.Errorf("join after the end: %v", err)
	}
}

func drained(t *testing.T, what string, updates <-chan store.Update) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case _, ok := <-updates:
			if !ok {
				return
			}
		case <-late:
			t.Fatalf("%s does not end", what)
		}
	}
}
