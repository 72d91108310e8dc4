package rendezvous

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

func TestCommands(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.command("1", VerbRestart, func(c *Control) { c.Round = new(int) })
	s.settle(ActCommand)
	s.stopped(StopRestart, "")
	s.command("1", VerbRestart) // sent twice
	s.settle(ActCommand)
	s.stopsAll()
	s.run(ActForm)
	s.command("1", VerbRestart) // and again, late
	s.settle(ActCommand)
	s.command("2", VerbRestart, func(c *Control) { c.Round = new(int) }) // about a round that is over
	s.settle(ActCommand)
	s.command("3", VerbRestart, func(c *Control) { c.RunUID = "another" })
	s.settle(ActCommand)
	s.phase(Running)
	if len(s.v.Controls) != 0 || s.v.Job.Budget.Used != 0 {
		t.Errorf("left %v, budget %+v", s.v.Controls, s.v.Job.Budget)
	}

	s.command("4", VerbSuspend)
	s.settle(ActCommand)
	s.stopsAll()
	s.settle(ActSuspend)
	s.sleep(1000 * time.Hour)
	d := s.settle()
	if d.Why.For != WaitsForUser {
		t.Errorf("waits for %+v", d.Why)
	}
	s.all(hasLeft)
	changed := s.spec
	changed.Restarts.Max = 9
	s.spec = changed
	s.join("a", uid(s.v.Job.RunUID))
	s.join("b", uid(s.v.Job.RunUID))
	s.settle()
	s.command("5", VerbResume)
	s.settle(ActCommand, ActForm)
	if s.v.Job.Spec.Restarts.Max != 9 {
		t.Error("the changed spec was not taken over")
	}

	s.command("6", VerbStop)
	s.settle(ActCommand)
	s.ended(exitcodes.Fatal, ReasonStopped, 91)
}

func TestResumeBeforeSuspended(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.command("1", VerbSuspend)
	s.settle(ActCommand)
	s.command("2", VerbResume)
	s.settle(ActCommand)
	s.stopsAll()
	s.settle(ActForm)
}

func TestWhatHasStoppedIsNotWaitedForAgain(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.command("1", VerbSuspend)
	s.settle(ActCommand)
	s.stopsAll()
	s.settle(ActSuspend)
	s.expire("a") // they leave without a farewell
	s.expire("b")
	s.v.Observations = Observations{} // and nobody remembers
	other := func(n *Node) { n.BootID = "other" }
	s.join("a", other)
	s.join("b", other)
	s.command("2", VerbResume)
	s.settle(ActCommand, ActForm)
	if s.v.Job.MembersGone {
		t.Error("the members of the new round have not stopped")
	}
}
