package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

func TestOneFailsAllStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := gang(t, store.NewInMemory(), 3)
		ranks := map[int]bool{}
		for _, p := range nodes {
			ranks[p.starts(0).Rank] = true
		}
		if len(ranks) != 3 {
			t.Errorf("ranks %v", ranks)
		}
		nodes[1].Failing(0, killed, nil)
		nodes[1].Gone(0, killed, nil)
		nodes[0].stops()
		nodes[2].stops()
		// The one that failed hears of the stop only if it was still running then.
		for _, p := range nodes {
			p.starts(1)
		}
		for _, p := range nodes {
			p.Gone(1, well, nil)
		}
		for _, p := range nodes {
			if e := p.ends(); e.Verdict != exitcodes.Success {
				t.Errorf("%s ends with %+v", p.name, e)
			}
		}
	})
}

func TestFatalEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := gang(t, store.NewInMemory(), 3)
		for _, p := range nodes {
			p.starts(0)
		}
		nodes[2].Failing(0, broken, nil)
		nodes[2].Gone(0, broken, nil)
		nodes[0].stops()
		nodes[1].stops()
		for _, p := range nodes {
			if e := p.ends(); e.Verdict != exitcodes.Fatal || e.Code != 1 || e.Cause == nil || e.Cause.Node != "node2" {
				t.Errorf("%s ends with %+v", p.name, e)
			}
		}
	})
}

// TestSaidBeforeTheStop is an echo, and a node that was stopped for it, of whose workers one had said before why it fails.
func TestSaidBeforeTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := gang(t, store.NewInMemory(), 3)
		for _, p := range nodes {
			p.starts(0)
		}
		echo := rendezvous.Outcome{Verdict: exitcodes.Retry, Reason: "PeerLost", Code: 210, Role: "cascade", Message: "it lost its peer"}
		nodes[2].Failing(0, echo, nil)
		nodes[2].Gone(0, echo, nil)
		nodes[0].stops()
		if o := nodes[1].next(); o.Stop == nil {
			t.Fatalf("got %s", describe(o))
		}
		nodes[1].Gone(0, rendezvous.Outcome{Rank: 1, Said: &rendezvous.Said{
			Verdict: exitcodes.Fatal, Code: 1, Reason: "CodeError", Rule: "code.syntax", Evidence: "KeyError: 'x'", Rank: 1,
		}}, nil)
		for _, p := range nodes {
			e := p.ends()
			if e.Verdict != exitcodes.Fatal || e.Code != 1 || e.Reason != "CodeError" || e.Cause == nil || e.Cause.Node != "node1" {
				t.Errorf("%s ends with %+v", p.name, e)
			}
		}
	})
}

// TestWhoIsBlamed: with the next round each node hears on which one the last has failed, and after a departure on none.
func TestWhoIsBlamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := gang(t, store.NewInMemory(), 2)
		nodes.start(0)
		nodes.fail(1, 0)
		for _, p := range nodes {
			if got := p.starts(1).Blamed; got != "node1" {
				t.Errorf("%s hears that it was %q", p.name, got)
			}
		}
		nodes.succeed(1)
	})
}

func TestOneNodeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := gang(t, store.NewInMemory(), 1)
		p := nodes[0]
		for round := range 3 {
			p.starts(round)
			if round < 2 {
				p.Failing(round, killed, nil)
				p.Gone(round, killed, nil)
			}
		}
		p.Gone(2, well, nil)
		p.ends()
	})
}

func TestLeavingNodeIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		nodes := gang(t, m, 2)
		rank := nodes[1].starts(0).Rank
		nodes[0].starts(0)
		nodes[1].Leave()
		if o := nodes[1].next(); o.Stop == nil {
			t.Fatalf("got %s", describe(o))
		}
		nodes[1].Gone(0, rendezvous.Outcome{Verdict: exitcodes.Preempted, Code: 143}, nil)
		if e := nodes[1].ends(); e.Verdict != exitcodes.Preempted {
			t.Errorf("%+v", e)
		}
		nodes[0].stops()
		s := m.Connect(clock)
		again := join(t, s, "node1", rendezvous.DefaultSpec(2), nil)
		if got := again.starts(1); got.Rank != rank || got.Blamed != "" {
			t.Errorf("the replacement has rank %d, not %d, and hears that it was %q", got.Rank, rank, got.Blamed)
		}
		nodes[0].starts(1)
		again.Gone(1, well, nil)
		nodes[0].Gone(1, well, nil)
		again.ends()
		nodes[0].ends()
	})
}

// TestTheCauseAfterItsEcho is a node of which one worker fails as an echo, and then another as the cause.
func TestTheCauseAfterItsEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := gang(t, store.NewInMemory(), 2)
		for _, p := range nodes {
			p.starts(0)
		}
		echo := killed
		echo.Role = "cascade"
		nodes[0].Failing(0, echo, nil)
		nodes[0].Failing(0, broken, nil)
		nodes[0].Failing(0, echo, nil)
		nodes[1].stops()
		nodes[0].Gone(0, broken, nil)
		for _, p := range nodes {
			if e := p.ends(); e.Verdict != exitcodes.Fatal || e.Cause.Node != "node0" {
				t.Errorf("%s ends with %+v", p.name, e)
			}
		}
	})
}

// TestAStartThatWasPutOffIsNoStartAnyMore takes the order to start, and then the store away, before the workers are
// started: by half of the fence time they must not be any more.
func TestAStartThatWasPutOffIsNoStartAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.NewInMemory().Connect(clock)
		p := join(t, s, "node0", rendezvous.DefaultSpec(1), nil)
		p.starts(0)
		s.Cut()
		time.Sleep(rendezvous.DefaultFence/2 - p.cfg.StopTime - 2*tick)
		if !p.MayStart() {
			t.Error("too careful: the fence is far away")
		}
		time.Sleep(3 * tick)
		if p.MayStart() {
			t.Error("others may soon count this node as gone, and it may start workers")
		}
		p.stops()
	})
}
