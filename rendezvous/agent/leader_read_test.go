package agent

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// reading is a leader that has read a job of so many nodes, whose first round runs.
func reading(t *testing.T, nodes int) *leader {
	t.Helper()
	l := &leader{
		Agent: &Agent{now: time.Now, log: slog.New(slog.DiscardHandler)},
		rows:  map[string]store.KV{}, bad: map[string]string{}, view: rendezvous.View{Token: "s"},
	}
	spec := rendezvous.DefaultSpec(nodes)
	job := &rendezvous.Job{V: 1, Store: "s", RunUID: "u", Phase: rendezvous.Running, NextRound: 1, Spec: spec, At: time.Now()}
	round := &rendezvous.Round{V: 1, Store: "s", RunUID: "u", MasterAddr: "a", Fence: spec.Fence}
	round.Resume.Decision = rendezvous.ResumeFresh
	for i := range nodes {
		name := fmt.Sprint("node", i)
		round.Members = append(round.Members, rendezvous.Member{Name: name, Incarnation: name, Slots: 1})
	}
	header, list, err := round.Split()
	if err != nil {
		t.Fatal(err)
	}
	there := []store.KV{row(t, jobKey, job), row(t, roundKey(0), header)}
	if list != nil {
		there = append(there, row(t, lists+header.MemberList, list))
	}
	if err := l.update(store.Update{Reset: true, Rev: 10, Token: "s", Changed: there}); err != nil {
		t.Fatal(err)
	}
	if l.view.Job == nil || l.view.Round == nil || len(l.view.Round.Members) != nodes || len(l.bad) > 0 {
		t.Fatalf("it has read %+v, %+v, %v", l.view.Job, l.view.Round, l.bad)
	}
	return l
}

func row[R rendezvous.Job | rendezvous.Round | rendezvous.MemberList | rendezvous.Node | rendezvous.Control](
	t *testing.T, key string, r *R) store.KV {
	t.Helper()
	value, err := rendezvous.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return store.KV{Key: key, Value: value, CreateRev: 5, ModRev: 10}
}

// TestRecordsAreDecodedOnce: of a job of a thousand nodes the list of members is the longest there is, and a command that
// comes, as all else that changes beside it, is no reason to decode it again.
func TestRecordsAreDecodedOnce(t *testing.T) {
	l := reading(t, 100)
	job, list := l.view.Job, l.list
	control := row(t, controls+"c", &rendezvous.Control{V: 1, ID: "c", Verb: rendezvous.VerbRestart})
	if err := l.update(store.Update{Rev: 11, Token: "s", Changed: []store.KV{control}}); err != nil {
		t.Fatal(err)
	}
	if len(l.view.Controls) != 1 || l.view.Job != job || l.list != list {
		t.Errorf("%d commands; the job's record was decoded again: %v, the list: %v", len(l.view.Controls), l.view.Job != job, l.list != list)
	}
	later := row(t, jobKey, job)
	later.ModRev = 12
	if err := l.update(store.Update{Rev: 12, Token: "s", Changed: []store.KV{later}}); err != nil {
		t.Fatal(err)
	}
	if l.view.JobRev != 12 || l.view.Job == job || l.list != list {
		t.Errorf("the job's record at %d, decoded: %v; the list was decoded again: %v", l.view.JobRev, l.view.Job != job, l.list != list)
	}
}

// TestWhatIsWorthADecision: with a thousand nodes some tell how far they have come all the time, and nothing follows from
// that. What the view was waiting for is news, whatever comes with it.
func TestWhatIsWorthADecision(t *testing.T) {
	node := &rendezvous.Node{V: 1, Store: "s", Incarnation: "node1", Slots: 1, State: rendezvous.NodeRunning}
	for name, tc := range map[string]struct {
		u    store.Update
		read int64 // the view is behind this
		want bool
	}{
		"how far a node has come":              {store.Update{Changed: []store.KV{{Key: progress + "node1", Value: []byte("{}")}}}, 10, false},
		"the same, and the view has caught up": {store.Update{Changed: []store.KV{{Key: progress + "node1", Value: []byte("{}")}}}, 11, true},
		"a node":                               {store.Update{Changed: []store.KV{row(t, nodesKey+"node1", node)}}, 10, true},
		"a node is gone":                       {store.Update{Deleted: []store.Deletion{{Key: nodesKey + "node1", Rev: 11}}}, 10, true},
		"how far the store is":                 {store.Update{}, 10, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := reading(t, 2)
			l.news, l.view.Read = false, tc.read
			tc.u.Rev, tc.u.Token = 11, "s"
			if err := l.update(tc.u); err != nil {
				t.Fatal(err)
			}
			if l.news != tc.want {
				t.Errorf("news: %v", l.news)
			}
		})
	}
}
