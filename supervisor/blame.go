package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/evidence/stacks"
	"github.com/gangrun/gangrun/supervisor/hang"
)

// hangCase is what was known of a hang before the workers were ended.
type hangCase struct {
	round  int
	report *hang.Report  // nil where another node said it
	state  *machineState // nil where it was not known in time
	// lingers is the worker that has failed and does not end, by its last words; -1: none.
	lingers int
	final   string
	answers answers
	// silentSince is when the last progress was seen; zero where that is not known.
	silentSince time.Time
	at          time.Time // the workers have ended
}

// halfOver is when half of the silence was over, given when the workers were stopped for it: who has failed before may be the
// reason for it. Where another node has said that they hang it is not known, and the moment counts in which they do.
func (c hangCase) halfOver(stoppedAt time.Time) time.Time {
	if c.report == nil {
		return stoppedAt.Add(-2 * hang.ConfirmTime)
	}
	return stoppedAt.Add(-c.report.Silence / 2)
}

// failedSince reports whether a worker has said its last words between that time and its stop.
func failedSince(o exitcodes.Outcome, text []byte, arrived []exitcodes.Arrival, since time.Time, rules *exitcodes.Rules) bool {
	news := false
	for _, a := range arrived {
		if a.At.After(o.StoppedAt) { // its stacks, which it was asked for
			text = text[:min(a.Offset, len(text))]
			break
		}
		news = news || a.At.After(since)
	}
	if !news {
		return false
	}
	o.Output, o.Arrived = text, arrived
	_, ended := exitcodes.SaysEnd(o, rules)
	return ended
}

func (s *Supervisor) hangCase() hangCase {
	c := hangCase{round: s.round.start.Round.Number, lingers: -1, at: time.Now()}
	if h := s.health; h != nil {
		c.report, c.state, c.lingers, c.final, c.answers = h.hang, h.state, h.lingers, h.final[h.lingers], h.answers
		c.silentSince = h.silentSince
	}
	return c
}

// blame finds out which of the workers that were ended for their hang the others waited for, keeps the evidence, and
// puts what it means among the findings. It returns that worker's index, or one that stands for all.
func (s *Supervisor) blame(c hangCase, workers []*worker, findings []exitcodes.Finding) []int {
	var (
		stands []hang.Stand
		of     []int // the worker of each
		files  []evidenceFile
	)
	why := "it was stopped while it made no progress, as the job hung"
	if c.report != nil {
		why = c.report.String()
	}
	for i, w := range workers {
		if w.pid == 0 || w.outcome.Stop != exitcodes.StoppedByGang {
			continue
		}
		stand := hang.Stand{Name: w.name(i)}
		if step, known := w.step(); known {
			stand.Step = &step
		}
		if c.state != nil {
			stand.Trouble = c.state.trouble[i]
		}
		if why := survives(w.pid); why != "" {
			stand.Trouble = why
		}
		text, arrived := w.tail.Read()
		stand.Since = failedSince(w.outcome, text, arrived, c.halfOver(w.outcome.StoppedAt), w.rules)
		if dump, _ := stacks.Find(text); dump != nil {
			files = append(files, evidenceFile{strings.ReplaceAll(stand.Name, " ", "") + "-stacks.txt", string(dump)})
			stand.Place, stand.Signature, stand.Waits = place(stacks.Parse(dump))
		}
		stands, of = append(stands, stand), append(of, i)
	}
	if len(stands) == 0 {
		return nil
	}
	var ranks []int
	for _, i := range of {
		ranks = append(ranks, workers[i].spec.Rank)
	}
	c.answers.dumped(s.cfg.Dir, workers, of, c.silentSince)
	if c.answers.unread != nil {
		s.log.Warn("cannot read torch's flight recorder; judging the hang without it", "err", c.answers.unread)
	}
	c.answers.groups(stands, ranks)
	for k, c := range c.answers.joined(workers[of[0]].world(), ranks) {
		stands[k].Collectives = c
	}
	if late := comesLate(c.answers.torch); late != "" {
		s.log.Warn("torch's flight recorder shows who was repeatedly late to the collectives", "late", late)
	}
	who, tells := guilty(c, stands, of, findings)
	evidence := tells
	if who < 0 {
		evidence = ""
		tells += exited(workers)
	}
	state := "where the ranks stand:\n" + hang.Places(stands) + "\n"
	switch {
	case c.report != nil:
		state += c.state.text(c.report)
	case c.state != nil:
		state += c.state.shown
	}
	asked, says := c.answers.files(c.at.Add(answerTime))
	tells += says
	s.keep(c.round, append(append(files, asked...), evidenceFile{"state.txt", state})...)

	i := of[max(who, 0)]
	o := workers[i].outcome
	o.Stop, o.Hang = exitcodes.NotStopped, &exitcodes.Hang{
		Why: "made no progress: " + why + "; " + tells, Evidence: evidence, Failed: i == c.lingers, Echo: who < 0 && hang.Victims(stands),
	}
	if who < 0 && len(stands) > 1 {
		o.Rank, o.LocalRank = -1, -1
	}
	findings[i] = exitcodes.Judge(o, workers[i].rules)
	return []int{i}
}

// place is where a process stands, by its stacks. One whose main thread runs no Python is at its end, or its start.
func place(threads []stacks.Thread) (stands, signature string, waits bool) {
	main, found := stacks.Main(threads)
	switch {
	case found:
		return main.Stands(), main.Signature(), main.Waits()
	case len(threads) > 0:
		return "no Python code, as at its end", "none", false
	}
	return "", "", false
}

// guilty is which of those that stand somewhere is the cause: one that had said why it fails comes first.
func guilty(c hangCase, stands []hang.Stand, of []int, findings []exitcodes.Finding) (int, string) {
	for k, i := range of {
		if said := findings[i].Said; said != nil && said.Role == exitcodes.RoleRoot {
			return k, "it had failed before"
		}
	}
	if k := slices.Index(of, c.lingers); k >= 0 {
		return k, "it had failed before: " + c.final
	}
	return hang.Blame(stands)
}

// exited tells of workers that had ended by themselves: the others may wait for them.
func exited(workers []*worker) string {
	var most int64 // that one has told which did not exit
	for _, w := range workers {
		if step, told := w.step(); told && w.outcome.Stop != exitcodes.NotStopped {
			most = max(most, step)
		}
	}
	var names []string
	wait := "may wait"
	for i, w := range workers {
		if w.outcome.Stop != exitcodes.NotStopped || w.outcome.Status != (exitcodes.Status{}) {
			continue
		}
		name := w.name(i)
		if step, told := w.step(); told && step < most {
			name, wait = fmt.Sprintf("%s, at step %d of %d,", name, step, most), "wait"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	return "; " + strings.Join(names, ", ") + " had exited 0, and the others " + wait + " for it"
}
