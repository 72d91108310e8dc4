package rendezvous

import (
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

func TestReact(t *testing.T) {
	spec := DefaultSpec(2)
	other := spec
	other.MaxNodes, other.Restarts.Max = 3, 7
	other.MinNodes = 3
	round := func(r int) *Round {
		return &Round{Number: r, RunUID: "u", Members: []Member{{Name: "x"}, {Name: "n", Incarnation: "i"}}}
	}
	job := func(p Phase, r int) *Job {
		j := &Job{RunUID: "u", Phase: p, Round: r, NextRound: r + 1, Spec: spec, Seq: 9, SinceSeq: 8}
		if p.finished() {
			j.End = &End{Verdict: exitcodes.Retry, Reason: "Hang", Code: 212}
			if p == Succeeded {
				j.End = &End{Verdict: exitcodes.Success, Reason: "Succeeded"}
			}
		}
		return j
	}
	suspended := job(Suspended, 3)
	suspended.Suspend = true
	foreign := job(Running, 4)
	foreign.RunUID = "w"
	mismatch := job(Forming, 3)
	mismatch.Spec = other
	guard := Guard{Sent: 100 * time.Second, Fence: 60 * time.Second, Lease: 5 * time.Second, StopTime: 6 * time.Second}
	const fresh, late = 101 * time.Second, 124 * time.Second
	running := func(r int) Self {
		return Self{Name: "n", Incarnation: "i", RunUID: "u", Spec: spec, State: NodeRunning, Round: r, Store: "s", Joined: 2, Guard: guard}
	}
	idle := func(state State, r int) Self {
		s := running(r)
		s.State = state
		return s
	}
	with := func(s Self, edit func(*Self)) Self {
		edit(&s)
		return s
	}
	for name, tc := range map[string]struct {
		self Self
		job  *Job
		r    *Round
		at   time.Duration
		want Action
		says string // part of Why
		code int    // of the end
	}{
		"runs":                       {running(3), job(Running, 3), round(3), fresh, ActGo, "", 0},
		"runs, and an old record":    {running(3), job(Stopping, 2), round(2), fresh, ActGo, "", 0},
		"store out of reach":         {running(3), job(Running, 3), round(3), late, ActHalt, "not been reached", 0},
		"stop":                       {running(3), job(Stopping, 3), round(3), fresh, ActHalt, "the job is Stopping", 0},
		"fenced":                     {running(3), job(Forming, 3), round(3), fresh, ActHalt, "Forming", 0},
		"the next round runs":        {running(3), job(Running, 4), round(4), fresh, ActHalt, "round 4 has begun", 0},
		"suspend":                    {running(3), suspended, round(3), fresh, ActHalt, "Suspended", 0},
		"failed":                     {running(3), job(Failed, 3), round(3), fresh, ActHalt, "Hang", 0},
		"another run":                {running(3), foreign, round(4), fresh, ActHalt, "another run", 0},
		"no record":                  {running(3), nil, nil, fresh, ActHalt, "record has gone", 0},
		"taken":                      {with(running(3), func(s *Self) { s.Taken = true }), job(Running, 3), round(3), fresh, ActHalt, "taken its place", 0},
		"told to leave":              {with(running(3), func(s *Self) { s.Leaving = true }), job(Running, 3), round(3), fresh, ActHalt, "leaving", 0},
		"another store":              {with(running(3), func(s *Self) { s.Store = "old" }), job(Running, 3), round(3), fresh, ActHalt, "another one", 0},
		"start":                      {idle(NodeWaiting, -1), job(Running, 3), round(3), fresh, ActStart, "", 0},
		"start after a stop":         {idle(NodeStopped, 2), job(Running, 3), round(3), fresh, ActStart, "", 0},
		"start after success":        {idle(NodeDone, 2), job(Running, 3), round(3), fresh, ActStart, "", 0},
		"never the same round again": {idle(NodeStopped, 3), job(Running, 3), round(3), fresh, ActWait, "stopped with round 3", 0},
		"done waits":                 {idle(NodeDone, 3), job(Running, 3), round(3), fresh, ActWait, "done with round 3", 0},
		"start guard":                {idle(NodeStopped, 2), job(Running, 3), round(3), late, ActWait, "too long to start", 0},
		"round not yet read":         {idle(NodeStopped, 2), job(Running, 3), round(2), fresh, ActWait, "", 0},
		"spare":                      {with(idle(NodeWaiting, -1), func(s *Self) { s.Incarnation = "j" }), job(Running, 3), round(3), fresh, ActWait, "without this node", 0},
		"stopped before the start":   {idle(NodeStopped, 2), job(Stopping, 3), round(3), fresh, ActAcknowledge, "", 0},
		"acknowledged":               {idle(NodeStopped, 3), job(Stopping, 3), round(3), fresh, ActWait, "", 0},
		"no job yet":                 {idle(NodeWaiting, -1), nil, nil, fresh, ActWait, "no record", 0},
		"rejoin":                     {with(idle(NodeStopped, 3), func(s *Self) { s.Store = "old" }), nil, nil, fresh, ActRejoin, "", 0},
		"leaves":                     {with(idle(NodeStopped, 3), func(s *Self) { s.Leaving = true }), job(Running, 3), round(3), fresh, ActLeave, "", 143},
		"leaves, taken":              {with(idle(NodeStopped, 3), func(s *Self) { s.Taken = true }), job(Running, 3), round(3), fresh, ActLeave, "", 214},
		"suspended leaves":           {idle(NodeStopped, 3), suspended, round(3), fresh, ActLeave, "", 143},
		"suspended, come later":      {with(idle(NodeWaiting, -1), func(s *Self) { s.Joined = 8 }), suspended, round(3), fresh, ActWait, "suspended", 0},
		"ends with the others":       {idle(NodeStopped, 3), job(Failed, 3), round(3), fresh, ActLeave, "", 212},
		"succeeds with the others":   {idle(NodeDone, 3), job(Succeeded, 3), round(3), fresh, ActLeave, "", 0},
		"comes back to a success":    {with(idle(NodeWaiting, -1), func(s *Self) { s.Joined = 9 }), job(Succeeded, 3), round(3), fresh, ActLeave, "", 0},
		"comes back to a retry":      {with(idle(NodeWaiting, -1), func(s *Self) { s.Joined = 9 }), job(Failed, 3), round(3), fresh, ActReturn, "", 0},
		"has said that it came back": {with(idle(NodeWaiting, -1), func(s *Self) { s.Joined, s.ReopenSeq = 9, 9 }), job(Failed, 3), round(3), fresh, ActWait, "", 0},
		"new run after a success":    {with(idle(NodeWaiting, -1), func(s *Self) { s.Joined, s.RunUID = 9, "" }), job(Succeeded, 3), round(3), fresh, ActReturn, "", 0},
		"waits for an older run":     {with(idle(NodeWaiting, -1), func(s *Self) { s.RunUID = "z" }), job(Running, 3), round(3), fresh, ActWait, "run u of this job", 0},
		"another spec": {idle(NodeWaiting, -1), mismatch, round(3), fresh, ActLeave,
			"minNodes: 3, here 2; maxNodes: 3, here 2; restarts.max: 7, here 3", 78},
	} {
		t.Run(name, func(t *testing.T) {
			got := React(tc.self, Reading{Store: "s", Job: tc.job, Round: tc.r}, tc.at)
			if got.Do != tc.want || !strings.Contains(got.Why, tc.says) {
				t.Errorf("%s (%s), want %s (%s)", got.Do, got.Why, tc.want, tc.says)
			}
			if (got.Do == ActLeave) != (got.End != nil) || got.End != nil && got.End.Code != tc.code {
				t.Errorf("ends with %+v, want code %d", got.End, tc.code)
			}
			if got.Do == ActStart && (got.Round != 3 || got.Rank != 1) {
				t.Errorf("starts round %d as rank %d", got.Round, got.Rank)
			}
			if got.Why == "" && got.Do != ActGo && got.Do != ActStart && got.Do != ActLeave {
				t.Error("does not say why")
			}
		})
	}
}

func TestGuard(t *testing.T) {
	g := Guard{Sent: 1000 * time.Second, Fence: 60 * time.Second, Lease: 5 * time.Second, StopTime: 6 * time.Second}
	if got := g.GoneBy() - g.Sent; got != 30*time.Second {
		t.Errorf("gone by %v after the renewal, want half of the fence", got)
	}
	if at := g.StopAt(); at != 1024*time.Second || g.Expired(at-1) || !g.Expired(at) {
		t.Errorf("stops at %v", at)
	}
	for at, want := range map[time.Duration]time.Duration{
		1030 * time.Second: 0, 1065 * time.Second: 0, 1066 * time.Second: time.Second,
	} {
		if got := g.Overlap(at); got != want {
			t.Errorf("gone at %v: overlap %v, want %v", at, got, want)
		}
	}
	g.StopTime = time.Minute // stopping takes longer than there is time: nothing may be started at all
	if !g.Expired(g.Sent) {
		t.Error("workers that cannot be stopped in time may be started")
	}
}
