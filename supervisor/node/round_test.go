package node

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

func TestOneCommandSucceeds(t *testing.T) {
	w := newWorld(t, Policy{}).start(0, 0).exits(10*s, 0, 0)
	w.wants("prepare, gone success")
	w.end(10*s).ended(exitcodes.Success, 0, "")
}

// TestRestart goes through a failure that is worth a retry, and the round after it.
func TestRestart(t *testing.T) {
	w := newWorld(t, Policy{MaxRestarts: 3}, ranks(2)...).start(0, 0)
	w.wants("prepare")
	w.dies(10*s, 1, SIGKILL).wants("failing retry, SIGTERM to 0")
	w.dies(11*s, 0, SIGTERM).wants("gone retry")
	if w.n.State() != Waiting {
		t.Fatalf("it is %v", w.n.State())
	}
	w.at(12*s, Budget{rendezvous.Budget{Used: 1}}).start(12*s, 1)
	if m := w.record(); *m.Round != 1 || m.Restarts.Used != 1 || m.RecoverySeconds != 2 {
		t.Errorf("round %d, %d restarts used, recovered in %v s", *m.Round, m.Restarts.Used, m.RecoverySeconds)
	}
	w.exits(20*s, 0, 0).exits(21*s, 1, 0)
	w.end(21*s).ended(exitcodes.Success, 0, "")
}

// TestRecoveryFromALoss counts from when the node that is lost was last heard of: since then nothing has trained.
func TestRecoveryFromALoss(t *testing.T) {
	w := newWorld(t, Policy{MaxRestarts: 3}, ranks(2)...).start(0, 0)
	w.at(100*s, Stop{Round: 0, Why: "b is lost", Silence: 60 * s})
	w.dies(101*s, 0, SIGTERM).dies(101*s, 1, SIGTERM)
	w.at(102*s, Budget{rendezvous.Budget{Used: 1}}).start(103*s, 1)
	if m := w.record(); m.RecoverySeconds != 63 {
		t.Errorf("recovered in %v s", m.RecoverySeconds)
	}
}

// TestFatal has the others stopped at once, and the node end as the worker did.
func TestFatal(t *testing.T) {
	w := newWorld(t, Policy{}, ranks(3)...).start(0, 0)
	w.exits(5*s, 2, 3).wants("prepare, failing fatal, SIGTERM to 0, SIGTERM to 1")
	w.exits(6*s, 0, 0).wants("")
	w.at(10 * s).wants("SIGKILL to 1") // --restart-grace
	w.dies(10*s, 1, SIGKILL).wants("gone fatal")
	w.end(10*s).ended(exitcodes.Fatal, 3, "rank 2 exited 3")
}

// TestEcho has a failure that may be the echo of another: the others go on for a moment, in which the cause may end.
func TestEcho(t *testing.T) {
	w := newWorld(t, Policy{}, ranks(2)...)
	w.hold["Gather"] = true
	w.start(0, 0).took()
	w.dies(1*s, 0, 6)
	w.at(1*s, Judged{0, exitcodes.Finding{Verdict: exitcodes.Retry, Role: exitcodes.RoleCascade, Code: 134, Rank: 0, At: noon.Add(s)}})
	w.wants("failing retry")
	w.exits(2*s, 1, 2)
	w.at(2*s, Judged{1, exitcodes.Finding{Verdict: exitcodes.Fatal, Role: exitcodes.RoleRoot, Code: 2, Rank: 1, Message: "rank 1 exited 2", At: noon.Add(2 * s)}})
	w.wants("failing fatal, gone fatal")
	w.end(3*s).ended(exitcodes.Fatal, 2, "rank 1")

	w = newWorld(t, Policy{}, ranks(2)...)
	w.hold["Gather"] = true
	w.start(0, 0).took()
	w.dies(1*s, 0, 6)
	w.at(1*s, Judged{0, exitcodes.Finding{Verdict: exitcodes.Retry, Role: exitcodes.RoleSuspect, Code: 134}})
	w.wants("failing retry")
	w.at(1*s + echoTime).wants("SIGTERM to 1")
}

// TestSuccessThatARuleCallsAFailure stops the others at once: they wait for a rank that has gone.
func TestSuccessThatARuleCallsAFailure(t *testing.T) {
	w := newWorld(t, Policy{}, ranks(2)...)
	w.hold["Gather"] = true
	w.start(0, 0).exits(1*s, 0, 0).took()
	w.at(1*s, Judged{0, exitcodes.Finding{Verdict: exitcodes.Fatal, Role: exitcodes.RoleRoot, Code: 91, CodeOverridden: true, Message: "no checkpoint"}})
	w.wants("failing fatal, SIGTERM to 1")
	w.dies(2*s, 1, SIGTERM)
	w.at(2*s, Judged{1, exitcodes.Finding{Verdict: exitcodes.Retry, Role: exitcodes.RoleNone}})
	w.end(2*s).ended(exitcodes.Fatal, 91, "no checkpoint")
}

// TestLateEvidence changes the verdict once the last worker is gone, not before and not without.
func TestLateEvidence(t *testing.T) {
	w := newWorld(t, Policy{}).start(0, 0)
	w.amended = &exitcodes.Finding{
		Verdict: exitcodes.Retry, Reason: exitcodes.ReasonNodeUnhealthy, Role: exitcodes.RoleRoot, Code: 214, NodeFault: true,
		Message: "Xid 79", Rank: -1, LocalRank: -1,
	}
	w.exits(1*s, 0, 1)
	w.wants("prepare, failing fatal, leave sick, gone retry")
	w.at(1*s, End{End: rendezvous.End{Verdict: exitcodes.Fatal, Code: 1, Message: "another's"}})
	w.ended(exitcodes.Retry, 214, "Xid 79")
}

// TestCannotStart has the second worker missing: the first, which runs, is stopped.
func TestCannotStart(t *testing.T) {
	w := newWorld(t, Policy{}, ranks(3)...)
	w.fork = map[int]Failure{1: {Why: "cannot start x: no such file", Code: 127}}
	w.start(0, 0)
	w.wants("prepare, SIGTERM to 0, failing fatal, SIGTERM to 0")
	w.dies(1*s, 0, SIGTERM).wants("gone fatal")
	w.end(1*s).ended(exitcodes.Fatal, 127, "cannot start x")

	w = newWorld(t, Policy{})
	w.fork = map[int]Failure{0: {Why: "cannot start x: permission denied", Code: 126}}
	w.start(0, 0).wants("prepare, failing fatal, gone fatal")
	w.end(0).ended(exitcodes.Fatal, 126, "permission denied")
}

// TestNotReady is a round that could not even be made ready: the machine's fault, so another node may do better.
func TestNotReady(t *testing.T) {
	w := newWorld(t, Policy{})
	w.hold["Prepare"] = true
	w.start(0, 0).at(10*s, Prepared{Failure: &Failure{Why: "no port is free"}})
	w.wants("prepare, failing retry, leave sick, gone retry")
	w.end(10*s).ended(exitcodes.Retry, 214, "no port is free")
}

// TestStopBeforeTheStart has an order, a signal, the end and a silent store come while the round is made ready.
func TestStopBeforeTheStart(t *testing.T) {
	for name, tt := range map[string]struct {
		ev   Event
		want string
	}{
		"a stop":       {Stop{Round: 0, Why: "n1 has gone"}, "prepare, abandon, gone "},
		"another stop": {Stop{Round: 7}, "prepare"},
		"SIGTERM":      {Signaled{Signal: SIGTERM}, "prepare, leave, abandon, gone "},
		"the end":      {End{End: rendezvous.End{Verdict: exitcodes.Fatal, Code: 3, Reason: "Error", Message: "x"}}, "prepare, abandon, gone "},
		"no store":     {Prepared{Workers: ranks(1)}, "prepare, abandon, gone "},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Policy{}, ranks(2)...)
			w.hold["Prepare"] = true
			w.start(0, 0).at(1*s, tt.ev)
			got := w.took()
			if got+" " != tt.want && got != tt.want && got+" " != tt.want+" " {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if name == "another stop" {
				return
			}
			if w.at(2*s, Prepared{Workers: ranks(2), MayStart: true}).wants(""); w.n.State() == Running {
				t.Error("it runs what was given up")
			}
		})
	}
}

// TestLeavesNoRound has a node that is to leave refuse a round that was ordered meanwhile.
func TestLeavesNoRound(t *testing.T) {
	w := newWorld(t, Policy{}).signal(0, SIGTERM)
	w.wants("leave")
	w.start(1*s, 0).wants("gone")
	w.at(1*s, End{End: rendezvous.End{Verdict: exitcodes.Suspended, Code: 143}})
	w.ended(exitcodes.Preempted, 143, "SIGTERM from outside before the worker was started")
}

// TestOrders are stops that come from elsewhere.
func TestOrders(t *testing.T) {
	for name, tt := range map[string]struct {
		stop   Stop
		policy Policy
		kill   time.Duration // after the order, SIGKILL
	}{
		"a failure elsewhere":            {Stop{Why: "n1: rank 3 was killed"}, Policy{}, 5 * s},
		"the job is suspended":           {Stop{Suspend: true}, Policy{}, 25 * s},
		"another node leaves":            {Stop{Departure: true}, Policy{}, 5 * s},
		"suspended, but others hurry it": {Stop{Suspend: true, Expedite: true}, Policy{}, 25 * s},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tt.policy, ranks(1)...).start(0, 0)
			w.at(10*s, tt.stop).wants("prepare, SIGTERM to 0")
			w.at(10*s + tt.kill - 1).wants("")
			w.at(10*s + tt.kill).wants("SIGKILL to 0")
			w.dies(10*s+tt.kill, 0, SIGKILL).wants("gone")
			if w.n.final != nil {
				t.Error("a node that was stopped for another's sake has an end of its own")
			}
			if m := w.n.verdict.message; m.Message != "gangrun was killed while it waited for the other nodes" {
				t.Errorf("its message meanwhile is %q", m.Message)
			}
		})
	}
}

// TestExpedite shortens a stop that may take long: others are about to run without this node.
func TestExpedite(t *testing.T) {
	w := newWorld(t, Policy{SaveGrace: 600 * s}, ranks(2)...).start(0, 0)
	w.at(1*s, Stop{Suspend: true}).took()
	w.at(2*s, Stop{Expedite: true, Why: "the store is out of reach"})
	if !w.logged("no more time than a stop before a restart") {
		t.Error("nothing is said")
	}
	w.wants("")
	w.at(7 * s).wants("SIGKILL to 0, SIGKILL to 1")

	// What is left behind has a second.
	w = newWorld(t, Policy{}).start(0, 0).signal(1*s, SIGTERM)
	w.left = []Process{{PID: 9, Name: "x"}}
	w.exits(2*s, 0, 0).took()
	w.at(3*s, Stop{Expedite: true})
	w.at(4 * s).wants("SIGKILL to what is left")
	w.at(4*s + sweepAgain).wants("SIGKILL to what is left, gone preempted")
}

// TestBothFail takes the earliest root, and the clock is the supervisor's.
func TestBothFail(t *testing.T) {
	w := newWorld(t, Policy{}, ranks(2)...).start(0, 0)
	w.at(2*s, Exited{Worker: 1, Status: exitcodes.Status{Code: 4}, At: noon.Add(2 * s)})
	w.at(2*s, Exited{Worker: 0, Status: exitcodes.Status{Code: 3}, At: noon.Add(s)})
	if w.n.verdict.cause != 1 {
		t.Errorf("worker %d is the cause: the other was stopped before its end was known", w.n.verdict.cause)
	}
}

// TestAccused: a worker that does not do what it should ends for that reason, whatever it answers to the stop.
func TestAccused(t *testing.T) {
	w := newWorld(t, Policy{}, ranks(2)...).at(0, Begin{Step: step(100), Path: "/c/100"})
	w.at(5*s, Reported{{Step: step(1)}, {Step: step(100)}}, Reported{{Step: step(2)}, {Step: step(101)}}).wants("prepare, SIGTERM to 0")
	w.exits(6*s, 0, 0).wants("failing fatal, SIGTERM to 1")
	w.dies(6*s, 1, SIGTERM)
	w.end(7*s).ended(exitcodes.Fatal, 65, "rank 0 was to resume from the checkpoint of step 100 (/c/100) and reported step 1")
}
