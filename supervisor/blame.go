package supervisor

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/evidence/procs"
	"github.com/gangrun/gangrun/supervisor/evidence/stacks"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/process"
)

// machineState is what /proc shows of workers that seem to hang.
type machineState struct {
	trouble []string // of each worker: a process that cannot go on; empty for none
	shown   string
}

// The bounds of it.
const (
	mostProcesses = 256     // of one worker
	mostShown     = 1 << 20 // bytes
	stateAgain    = 200 * time.Millisecond
)

// stateOf looks twice: what sleeps uninterruptibly for a moment waits for a disk as ever.
func stateOf(pids []int) *machineState {
	first, err := procs.Read()
	if err != nil {
		return nil
	}
	time.Sleep(stateAgain)
	table, err := procs.Read()
	if err != nil {
		return nil
	}
	state := &machineState{trouble: make([]string, len(pids))}
	var b strings.Builder
	for i, pid := range pids {
		if pid == 0 {
			continue
		}
		before := map[int]byte{}
		for _, p := range first.Tree(pid) {
			before[p.PID] = p.State
		}
		tree := table.Tree(pid)
		for _, p := range tree[:min(len(tree), mostProcesses)] {
			s := table.State(p)
			if what := trouble(s); what != "" && before[p.PID] == p.State && state.trouble[i] == "" {
				state.trouble[i] = what
			}
			if b.Len() < mostShown {
				fmt.Fprintf(&b, "worker %d: %s", i, s)
			}
		}
	}
	state.shown = b.String()
	return state
}

// trouble is why a process cannot go on, if it cannot.
func trouble(s procs.State) string {
	switch {
	case s.Stopped():
		return fmt.Sprintf("process %v is stopped", s.Process)
	case s.State == 'D':
		return fmt.Sprintf("process %v sleeps in the kernel where nothing wakes it (%s)", s.Process, cmp.Or(s.Waits, "unknown"))
	}
	return ""
}

// survives says why a process that has counted as gone is still there: SIGKILL does not end it. Empty: it is not.
func survives(pid int) string {
	if now := process.Look(pid); len(now) == 0 || now[0].Dead() {
		return ""
	}
	table, err := procs.Read()
	if err != nil {
		return ""
	}
	tree := table.Tree(pid)
	if len(tree) == 0 || tree[0].Dead() || tree[0].Parent != os.Getpid() { // the number may be another's by now
		return ""
	}
	s := table.State(tree[0])
	return fmt.Sprintf("process %v survives SIGKILL: it sleeps in the kernel where nothing wakes it (%s)", s.Process, cmp.Or(s.Waits, "unknown"))
}

// text is the state for a file.
func (m *machineState) text(r *hang.Report) string {
	text := fmt.Sprintf("%s\nlimit: %v\n\n", r, r.Limit)
	if m == nil {
		return text + "the state of the processes was not known in time\n"
	}
	return text + m.shown
}

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

func (w *worker) name(i int) string {
	if w.spec.Rank >= 0 {
		return fmt.Sprintf("rank %d", w.spec.Rank)
	}
	return fmt.Sprintf("worker %d", i)
}

// step is the one that the worker has told, in whichever way, also right before the call.
func (w *worker) step() (int64, bool) {
	if w.notify != nil {
		w.notify.CatchUp()
	}
	return w.lastStep()
}

// lastStep is the one that was heard.
func (w *worker) lastStep() (int64, bool) {
	if w.notify != nil && w.notify.Told() {
		return w.notify.Least()
	}
	if w.progress != nil {
		if sign := w.progress.Sign(); sign.Steps > 0 {
			return sign.Step, true
		}
	}
	return 0, false
}

// phase is the one of a rank of the worker that has come least far; empty where none is told.
func (w *worker) phase() string {
	if w.notify == nil || !w.notify.Told() {
		return ""
	}
	phase, least := "", int64(math.MaxInt64)
	for _, r := range w.notify.Reports() {
		if r.Step != nil && *r.Step < least {
			phase, least = r.Phase, *r.Step
			if r.Stepped {
				phase = hang.Train
			}
		}
	}
	return phase
}

// answerTime is how long the end of a hang waits for what was asked.
const answerTime = time.Second

// evidenceFile is a file of evidence, of bounded size.
type evidenceFile struct{ name, text string }

// keepTime is the most that files of evidence are waited for: the disk may be what hangs.
const keepTime = 2 * time.Second

// keep writes files of evidence beside the logs, and says where.
func (s *Supervisor) keep(round int, files ...evidenceFile) {
	dir, err := within(keepTime, func() (string, error) {
		base := ""
		if s.cfg.HangDir != nil {
			base = s.cfg.HangDir()
		}
		if base = cmp.Or(base, s.cfg.StateDir); base != "" {
			if err := os.MkdirAll(base, 0o755); err != nil {
				return "", err
			}
		}
		name := fmt.Sprintf("hang_%s_round%d_*", strings.ReplaceAll(s.cfg.Node, "/", "_"), round)
		dir, err := os.MkdirTemp(base, name)
		if err != nil {
			return "", err
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, f.name), []byte(f.text), 0o644); err != nil {
				return "", err
			}
		}
		return dir, os.Chmod(dir, 0o755)
	}, nil)
	if err != nil {
		s.log.Warn("evidence of the hang could not be saved", "err", err)
		return
	}
	s.log.Warn("evidence of the hang saved", "dir", dir)
}
