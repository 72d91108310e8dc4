package agent

import "github.com/gangrun/gangrun/rendezvous"

// Ask asks how far the round's workers are, for a save that all make: [Agent.Serve] answers.
type Ask struct{ Round int }

// Save says at which step all ranks of the round save, and leave.
type Save struct {
	Round int
	Step  *int64 // the last to be finished; nil: as soon as each can
	Why   string
	// Departure says that another node leaves, and not that somebody wants the job to pause.
	Departure bool
}

// Serve tells of the workers' part in a save that all make: that their ranks look at the file, how far they are once that
// was asked, and that they have left by themselves.
func (a *Agent) Serve(s rendezvous.Service) {
	a.report(func(n *node) {
		if s.Round != n.record.Round || n.record.State != rendezvous.NodeRunning {
			return
		}
		s = rendezvous.ServiceOf(s)
		n.record.Service = &s
		if s.Answered || s.Served {
			n.writer.dirty = true
		} else if r := n.reading.Round; r != nil { // nobody waits to hear that
			n.owe(len(r.Members))
		}
	})
}

// LeaveAfterSave is Leave for a node whose workers go on until they have saved with those of the others.
func (a *Agent) LeaveAfterSave() {
	a.report(func(n *node) {
		n.record.Asks = n.record.State == rendezvous.NodeRunning
		n.leave()
	})
}

// saves hands out what the job's record says about a save in the round that runs here, each once. What another role
// counts as a step is no step of the gang's.
func (n *node) saves() {
	j := n.reading.Job
	if j == nil || j.Save == nil || j.Phase != rendezvous.Running || !j.Spec.Gang(n.record.Role) {
		return
	}
	s := j.Save
	ours := n.record.State == rendezvous.NodeRunning && n.started && !n.halted
	if !ours || j.RunUID != n.self.RunUID || n.reading.Store != n.self.Store || j.Round != n.record.Round || s.Round != j.Round {
		return
	}
	if !n.asked {
		n.asked = true
		n.order(Order{Ask: &Ask{Round: s.Round}})
	}
	if s.Agreed && !n.saving {
		n.saving = true
		why := s.Why
		if s.Node != "" {
			why = s.Node + ": " + why
		}
		n.order(Order{Save: &Save{Round: s.Round, Step: s.Step, Why: why, Departure: s.Kind == rendezvous.StopDeparture}})
	}
}
