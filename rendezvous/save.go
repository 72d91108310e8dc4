package rendezvous

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/words"
)

// Save is a save that all ranks of a round are to make at the same step, and to leave after it: the round stops once
// they have. It stands in the job's record from the moment in which the nodes are asked how far they are until the next
// round begins.
type Save struct {
	Round int       `json:"round"`
	Kind  string    `json:"kind"`           // StopDeparture or StopSuspend: why the round stops afterwards
	Node  string    `json:"node,omitempty"` // the one that leaves
	Why   string    `json:"why,omitempty"`  // in words
	At    time.Time `json:"at"`             // when it was asked for
	// Agreed is set once, together with Step: the last step that is to be finished; nil where nobody tells steps, and
	// each rank saves as soon as it can. By is when the round stops in any case.
	Agreed bool      `json:"agreed,omitempty"`
	Step   *int64    `json:"step,omitempty"`
	By     time.Time `json:"by,omitzero"`
	// Note says how it went, for the message of the stop.
	Note string `json:"note,omitempty"`
}

// Service is what a node says about its workers' part in such a save. It stands in its record.
type Service struct {
	Round int `json:"round"`
	// Looks is set where all its ranks have said that they look at the file that tells the step. Who names those that
	// have not, or, of those that were asked, that have not served.
	Looks bool   `json:"looks,omitempty"`
	Who   string `json:"who,omitempty"`
	// Answered is set once the node was asked: Step is the last that one of its ranks has finished, nil where none tells
	// steps, Each how long a step takes, 0 where that is not known, and Within how long its ranks have until they are
	// stopped.
	Answered bool     `json:"answered,omitempty"`
	Step     *int64   `json:"step,omitempty"`
	Each     Duration `json:"each,omitempty"`
	Within   Duration `json:"within,omitempty"`
	// Served is set once all its ranks have left by themselves.
	Served bool `json:"served,omitempty"`
}

// How far ahead of what was reported the step is that is agreed on: by so many steps, and by so long, which has to be
// enough for all to hear of it.
const (
	aheadSteps = 2
	aheadTime  = 2 * time.Second
)

// answerTime is how long the leader waits for the answers of all. Who cannot be heard within it hears too late of what
// is agreed, or never.
const answerTime = time.Second

// withinUnknown is how long a round waits for the save where no node has said how long its ranks have.
const withinUnknown = 30 * time.Second

const maxWho = 160 // bytes

// AgreedStep is the step at which all save, given the last that was reported and how long a step takes; 0 is unknown.
func AgreedStep(most int64, each time.Duration) int64 {
	ahead := int64(aheadSteps)
	if each > 0 {
		ahead = max(ahead, int64((aheadTime+each-1)/each))
	}
	return min(most, math.MaxInt64-ahead) + ahead // a step may be anything that a rank says
}

// StopText is what a rank reads of it: the step, or "now".
func StopText(step *int64) string {
	if step == nil {
		return "now"
	}
	return fmt.Sprint(*step)
}

// service is what the member says about its part in a save of this round; zero where it says nothing.
func (t *turn) service(m member) Service {
	if !m.own || m.entry.Service == nil || m.entry.Service.Round != t.job.Round {
		return Service{}
	}
	return *m.entry.Service
}

// mayServe reports whether any member has said that its ranks look at the file.
func (t *turn) mayServe(members []member) bool {
	for _, m := range members {
		if t.gang(m) && t.service(m).Looks {
			return true
		}
	}
	return false
}

// ask begins a save, by asking the members how far they are. It changes the record only; the caller writes it.
func (t *turn) ask(kind, node, why string) {
	t.job.Save = &Save{Round: t.job.Round, Kind: kind, Node: node, Why: cut(why), At: t.now.UTC()}
}

// saving reports whether the job's record tells of a save in the round that runs.
func (j *Job) saving() bool { return j.Save != nil && j.Save.Round == j.Round && j.Phase == Running }

// asks reports whether the member, which leaves, wants the ranks of all to save at the same step before the round stops.
func (t *turn) asks(m member) bool { return m.own && m.entry.Asks && m.standing == leaving }

// served reports whether the member's workers are gone because they have saved as agreed.
func (t *turn) served(m member) bool {
	return t.job.saving() && t.job.Save.Agreed && (t.service(m).Served || m.standing == done)
}

// save continues a save that all make, or begins one. What ends the round otherwise has been looked for before.
func (t *turn) save(members []member) (Decision, bool) {
	if !t.job.saving() {
		for _, m := range members {
			if t.missed(m) && t.asks(m) {
				t.ask(StopDeparture, m.Name, "it is leaving")
				return t.write(ActAsk), true
			}
		}
		return Decision{}, false
	}
	if !t.job.Save.Agreed {
		return t.agree(members), true
	}
	return t.awaitSave(members), true
}

// agree agrees on the step as soon as all have answered. Where one does not look at the file, the round stops as without
// it: its ranks would leave at a step of their own, and the others could not continue without them.
func (t *turn) agree(members []member) Decision {
	s := *t.job.Save
	var silent, blind []string
	var most *int64
	var each, within time.Duration
	answered := 0
	for _, m := range members {
		if !t.gang(m) || m.standing.out() {
			continue
		}
		a := t.service(m)
		switch {
		case !a.Answered:
			silent = append(silent, m.Name)
			continue
		case !a.Looks:
			blind = append(blind, m.Name+": "+cmp.Or(a.Who, "its workers do not run yet"))
			continue
		}
		answered++
		if a.Step != nil && (most == nil || *a.Step > *most) {
			most = a.Step
		}
		if d := a.Each.of(); d > 0 && (each == 0 || d < each) {
			each = d
		}
		if d := a.Within.of(); d > 0 && (s.Kind == StopSuspend || m.entry.Leaving) && (within == 0 || d < within) {
			within = d
		}
	}
	until := s.At.Add(answerTime)
	switch {
	case len(blind) > 0:
		return t.stopAfter("each saves for itself, if it does: on " + words.Few(blind))
	case len(silent) > 0 && t.now.Before(until):
		return t.wait(until, WaitsForNodes, silent, "a save of round %d is to be agreed on; %s",
			t.job.Round, joinNames(silent, "has not said how far it is", "have not said how far they are"))
	case answered == 0:
		return t.stopAfter("each saves for itself, if it does: no node has said how far it is")
	}
	s.Agreed, s.By = true, t.now.Add(cmp.Or(within, withinUnknown)).UTC()
	if most != nil {
		step := AgreedStep(*most, each)
		s.Step = &step
	}
	t.job.Save = &s
	return t.write(ActSave)
}

// awaitSave stops the round once all have served, or it is clear that they will not.
func (t *turn) awaitSave(members []member) Decision {
	s := t.job.Save
	at := "step " + StopText(s.Step)
	if s.Step == nil {
		at = "once"
	}
	var open, failed []string
	for _, m := range members {
		switch {
		case !t.gang(m):
		case !m.standing.out():
			open = append(open, m.Name)
		case m.own && !t.served(m):
			name := m.Name
			if who := t.service(m).Who; who != "" {
				name += ": " + who
			}
			failed = append(failed, name)
		}
	}
	switch {
	case len(failed) > 0:
		return t.stopAfter(fmt.Sprintf("asked to save at %s, and not done: %s", at, words.Few(failed)))
	case len(open) == 0:
		return t.stopAfter("all have saved at " + at)
	case !t.now.Before(s.By):
		return t.stopAfter(fmt.Sprintf("asked to save at %s, and not done in time: %s", at, words.Few(open)))
	}
	_, _, next := barrier(members)
	return t.wait(earliest(next, s.By, t.again), WaitsForEnd, open, "round %d saves at %s, and stops then", t.job.Round, at)
}

// stopAfter stops the round for what the save was asked for, and says how that went.
func (t *turn) stopAfter(note string) Decision {
	s := *t.job.Save
	s.Note = cut(note)
	t.job.Save = &s
	stop := s.stop(t.now)
	t.stop(stop.Kind, stop.Node, stop.Reason, stop.Message)
	return t.write(ActStop)
}

// stop is that of the round after the save.
func (s *Save) stop(now time.Time) Stop {
	stop := Stop{
		Round: s.Round, Kind: s.Kind, Node: s.Node, Reason: exitcodes.ReasonPreempted, Message: s.said(s.Why), At: now.UTC(),
	}
	if s.Kind == StopSuspend {
		stop.Reason = exitcodes.ReasonSuspended
	}
	return stop
}

// said is a sentence with how the save has gone, where there was one in that round.
func (s *Save) said(text string) string {
	if s == nil || s.Note == "" {
		return text
	}
	return text + "; " + s.Note
}

// of is the save of a round, nil where it had none.
func (s *Save) of(round int) *Save {
	if s == nil || s.Round != round {
		return nil
	}
	return s
}

func (s *Save) check() error {
	switch {
	case s.Round < 0 || s.Round > maxNumber:
		return fmt.Errorf("save: round %d", s.Round)
	case s.Kind != StopDeparture && s.Kind != StopSuspend:
		return fmt.Errorf("save: kind %q is not one of %s, %s", cut(s.Kind), StopDeparture, StopSuspend)
	case s.Step != nil && *s.Step < 0:
		return fmt.Errorf("save: step %d", *s.Step)
	case len(s.Node) > maxName || max(len(s.Why), len(s.Note)) > maxText:
		return fmt.Errorf("save: a text is too long")
	}
	return nil
}

func (s *Service) check() error {
	switch {
	case s.Round < 0 || s.Round > maxNumber:
		return fmt.Errorf("service: round %d", s.Round)
	case s.Step != nil && *s.Step < 0 || s.Each < 0 || s.Each > maxDuration || s.Within < 0 || s.Within > maxDuration:
		return fmt.Errorf("service: a step or a time is out of range")
	case len(s.Who) > maxWho:
		return fmt.Errorf("service: more than %d bytes say who", maxWho)
	}
	return nil
}

// ServiceOf bounds what a node says.
func ServiceOf(s Service) Service {
	s.Who = strings.ToValidUTF8(cutTo(s.Who, maxWho), "")
	s.Each, s.Within = min(max(s.Each, 0), maxDuration), min(max(s.Within, 0), maxDuration)
	return s
}
