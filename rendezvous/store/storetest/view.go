package storetest

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// View is what a reader knows who does what Update says.
type View struct {
	t       *testing.T
	Watcher store.Watcher
	Keys    map[string]store.KV
	Rev     int64
	Token   string
	Resets  int
	history []string
}

// Follow starts a watch. The view changes only in Until.
func Follow(t *testing.T, s store.Store, selector string) *View {
	t.Helper()
	return &View{t: t, Watcher: s.Watch(t.Context(), selector), Keys: make(map[string]store.KV)}
}

// Until takes updates until the condition holds.
func (v *View) Until(what string, holds func() bool) {
	v.t.Helper()
	late := time.After(patience)
	for !holds() {
		select {
		case u, ok := <-v.Watcher.Updates():
			if !ok {
				v.t.Fatalf("the watch ended before %s: %s", what, v.Text())
			}
			v.take(u)
		case <-late:
			v.t.Fatalf("no %s: rev %d, %d resets, %s", what, v.Rev, v.Resets, v.Text())
		}
	}
}

func (v *View) take(u store.Update) {
	v.t.Helper()
	if u.Reset {
		clear(v.Keys)
		v.Resets++
	} else if u.Rev < v.Rev {
		v.t.Fatalf("revision %d after %d", u.Rev, v.Rev)
	}
	seen := make(map[string]bool)
	for _, kv := range u.Changed {
		if seen[kv.Key] || kv.ModRev > u.Rev || kv.CreateRev > kv.ModRev {
			v.t.Fatalf("bad change %+v up to %d", kv, u.Rev)
		}
		seen[kv.Key] = true
		v.Keys[kv.Key] = kv
		v.history = append(v.history, "+"+kv.Key+"="+string(kv.Value))
	}
	for _, d := range u.Deleted {
		if seen[d.Key] || d.Rev > u.Rev || d.Rev <= v.Rev {
			v.t.Fatalf("bad deletion %+v up to %d", d, u.Rev)
		}
		seen[d.Key] = true
		delete(v.Keys, d.Key)
		v.history = append(v.history, "-"+d.Key)
	}
	v.Rev, v.Token = u.Rev, u.Token
}

// Text is the state, sorted by key.
func (v *View) Text() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(v.Keys)) {
		parts = append(parts, key+"="+string(v.Keys[key].Value))
	}
	return strings.Join(parts, " ")
}

// History is what has happened, in order.
func (v *View) History() string { return strings.Join(v.history, " ") }
