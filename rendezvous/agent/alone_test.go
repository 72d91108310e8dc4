package agent

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// withEvaluator is a gang of two and an evaluator, which restarts alone.
func withEvaluator(t *testing.T, m *store.InMemory, policy rendezvous.RolePolicy) (gang []*party, evaluator *party, spec rendezvous.Spec) {
	t.Helper()
	spec = rendezvous.DefaultSpec(3)
	spec.Roles = map[string]rendezvous.RolePolicy{"evaluator": policy}
	for i := range 2 {
		gang = append(gang, join(t, m.Connect(clock), fmt.Sprintf("node%d", i), spec, nil))
	}
	evaluator = join(t, m.Connect(clock), "evaluator", spec, asEvaluator)
	for _, p := range append(gang, evaluator) {
		p.starts(0)
	}
	return gang, evaluator, spec
}

func asEvaluator(c *Config) { c.Node.Role = "evaluator" }

func (p *party) hearsNothing() {
	p.t.Helper()
	select {
	case o := <-p.Orders():
		p.t.Errorf("%s: got %s", p.name, describe(o))
	case <-time.After(30 * time.Second):
	}
}

// TestOneRestartsAlone is a role that restarts by itself: the others hear nothing of it.
func TestOneRestartsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gang, evaluator, _ := withEvaluator(t, store.NewInMemory(), rendezvous.RolePolicy{Restart: rendezvous.RestartSelf, Optional: true})
		for i := range 3 {
			evaluator.Failing(0, killed, nil)
			evaluator.Gone(0, killed, nil)
			before := time.Now()
			evaluator.starts(0)
			if paused := time.Since(before) > 500*time.Millisecond; paused != (i > 0) {
				t.Errorf("restart %d came after %v", i, time.Since(before))
			}
		}
		evaluator.Gone(0, killed, nil) // and its budget is spent
		evaluator.hearsNothing()
		for _, p := range gang {
			p.hearsNothing()
			p.Gone(0, well, nil)
		}
		for _, p := range append(gang, evaluator) {
			if e := p.ends(); e.Verdict != exitcodes.Success || e.Code != 0 {
				t.Errorf("%s ends with %+v", p.name, e)
			}
		}
	})
}

// TestAloneUntilTheBudgetIsSpent is the same where success needs that role: then it is the others' failure, too.
func TestAloneUntilTheBudgetIsSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gang, evaluator, _ := withEvaluator(t, store.NewInMemory(), rendezvous.RolePolicy{Restart: rendezvous.RestartSelf})
		for range 3 {
			evaluator.Gone(0, killed, nil)
			evaluator.starts(0)
		}
		evaluator.Gone(0, killed, nil)
		for _, p := range gang {
			p.stops()
		}
		for _, p := range append(gang, evaluator) {
			p.starts(1)
			p.Gone(1, well, nil)
		}
		for _, p := range append(gang, evaluator) {
			p.ends()
		}
	})
}

// TestAReplacementOfARoleAlone comes into the round that runs.
func TestAReplacementOfARoleAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		gang, evaluator, spec := withEvaluator(t, m, rendezvous.RolePolicy{Restart: rendezvous.RestartSelf, Optional: true})
		evaluator.Leave()
		if o := evaluator.next(); o.Stop == nil {
			t.Fatalf("got %s", describe(o))
		}
		evaluator.Gone(0, rendezvous.Outcome{}, nil)
		if e := evaluator.ends(); e.Verdict != exitcodes.Preempted {
			t.Errorf("the evaluator ends with %+v", e)
		}
		evaluator = join(t, m.Connect(clock), "evaluator", spec, asEvaluator)
		if start := evaluator.starts(0); start.Rank != evaluatorRank(start.Round) {
			t.Errorf("the replacement gets rank %d of %+v", start.Rank, start.Round.Members)
		}
		gang[0].Failing(0, killed, nil) // it stops with the others
		gang[0].Gone(0, killed, nil)
		gang[1].stops()
		evaluator.stops()
		for _, p := range append(gang, evaluator) {
			p.starts(1)
		}
	})
}

func evaluatorRank(r *rendezvous.Round) int {
	for i, m := range r.Members {
		if m.Role == "evaluator" {
			return i
		}
	}
	return -1
}

// TestAloneTurnsOutFatal is a node of which one worker fails as an echo, and then the others for good: that is not
// restarted.
func TestAloneTurnsOutFatal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gang, evaluator, _ := withEvaluator(t, store.NewInMemory(), rendezvous.RolePolicy{Restart: rendezvous.RestartSelf, Optional: true})
		echo := killed
		echo.Role = "cascade"
		evaluator.Failing(0, echo, nil)
		evaluator.Gone(0, broken, nil)
		evaluator.hearsNothing()
		for _, p := range gang {
			p.Gone(0, well, nil)
		}
		for _, p := range append(gang, evaluator) {
			p.ends()
		}
	})
}

// TestAStartThatCameTooLate is not lost for the rest of the round.
func TestAStartThatCameTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gang, evaluator, _ := withEvaluator(t, store.NewInMemory(), rendezvous.RolePolicy{Restart: rendezvous.RestartSelf})
		evaluator.Gone(0, rendezvous.Outcome{}, nil)
		evaluator.starts(0)
		for _, p := range append(gang, evaluator) {
			p.Gone(0, well, nil)
		}
		for _, p := range append(gang, evaluator) {
			p.ends()
		}
	})
}
