package agent

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// TestAKeyThatHasComeAndGone: the leader hears in one update that a member's key was put and is gone again. The member
// was there, and is silent since then and no longer.
func TestAKeyThatHasComeAndGone(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := &leader{Agent: &Agent{}, rows: map[string]store.KV{}, bad: map[string]string{}}
	l.view = rendezvous.View{Token: "s", Rev: 9, Round: &rendezvous.Round{
		Store: "s", RunUID: "u", Members: []rendezvous.Member{{Name: "a", Incarnation: "a#1", Slots: 1}},
	}}
	silentSince := func(now time.Time) time.Time {
		l.view.Observations = rendezvous.Observe(l.view.Observations, l.view, l.puts, now)
		l.puts = nil
		return l.view.Observations.Member[0].Silent
	}
	if at := silentSince(began); at != began {
		t.Fatalf("silent since %v", at)
	}
	node := rendezvous.Node{V: 1, Store: "s", Incarnation: "a#1", RunUID: "u", Slots: 1, State: rendezvous.NodeStopped}
	value, err := rendezvous.Encode(&node)
	if err != nil {
		t.Fatal(err)
	}
	came := store.Update{Token: "s", Rev: 10, Changed: []store.KV{{Key: nodesKey + "a", Value: value, ModRev: 10, Lease: "1", Leased: true}}}
	u, ok := came.With(store.Update{Token: "s", Rev: 11, Deleted: []store.Deletion{{Key: nodesKey + "a", Rev: 11}}})
	if !ok {
		t.Fatal("they cannot be told in one")
	}
	before := l.view.Round
	if err := l.update(u); err != nil {
		t.Fatal(err)
	}
	l.view.Round = before
	if now := began.Add(time.Minute); silentSince(now) != now {
		t.Errorf("silent since %v, want %v", l.view.Observations.Member[0].Silent, now)
	}
}
