package rendezvous

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestDecideIsTotal(t *testing.T) {
	now := time.Unix(1e9, 0)
	broken := &Job{Phase: "?", Round: 3, NextRound: 4}
	for _, v := range []View{
		{}, {Job: &Job{}}, {Job: broken}, {Job: &Job{Phase: Running, Round: -1}}, {Job: &Job{Phase: Forming, Round: -1}},
		{Job: &Job{Phase: Suspended, Round: -1}}, {Job: &Job{Phase: Failed, Round: -1}}, {Nodes: map[string]NodeEntry{"a": {Node: &Node{}}}},
	} {
		Decide(v, now)
	}
}

func TestDecideChangesNothingItIsGiven(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.fails("a")
	s.command("1", VerbSuspend)
	b, _ := Encode(s.v.Job)
	before := s.v
	before.Nodes = map[string]NodeEntry{}
	for k, e := range s.v.Nodes {
		before.Nodes[k] = e
	}
	first := Decide(s.v, s.now)
	second := Decide(s.v, s.now)
	after, _ := Encode(s.v.Job)
	if !slices.Equal(b, after) || !reflect.DeepEqual(before, s.v) || !reflect.DeepEqual(first, second) {
		t.Error("the view was changed, or a second decision differs")
	}
}
