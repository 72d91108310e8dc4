package node

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// TestAnyOrder takes a node through whatever may happen, in any order, answers late or not at all, and asks for what
// must hold in every state: nothing panics, nobody runs for longer than its grace, every round is told to be gone once
// and only when nothing of it runs, and a node that was told to end ends in time.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(3000) {
		walk(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// machine is a node's machine and job at their least helpful.
type machine struct {
	t       *testing.T
	r       *rand.Rand
	n       *Node
	now     time.Time
	count   int
	answers []Event // that have not come yet
	running map[int]bool
	hook    bool
	left    int
	begun   int // rounds
	gone    int
	ended   bool // the job has said so
	probing bool // the machine is checked
	joined  bool // the job knows of the node
	looks   bool // its workers look at the stop file
}

func walk(t *testing.T, seed uint64) {
	m := &machine{t: t, r: rand.New(rand.NewPCG(seed, 1)), now: noon, count: 1 + int(seed%3), running: map[int]bool{}, looks: seed%2 == 0}
	p := Policy{
		StartedAt: noon, Grace: 25 * s, RestartGrace: 5 * s, SaveGrace: time.Duration(seed%2) * 55 * s,
		StopSignals: []Signal{SIGTERM, SIGINT}, HookTimeout: 30 * s, OnExit: []string{"a"}, OnJobEnd: []string{"b"},
		Leftovers: []Leftovers{LeftoversKill, LeftoversTerm, LeftoversLeave}[seed%3], NoRestart: seed%5 == 0,
		Notice: Notice{10, 60 * s}, Terminal: Terminal{Present: seed%2 == 0, Handed: seed%4 == 0},
	}
	p.Preflight = seed%11 < 3
	if seed%7 == 0 {
		p.TimeLimit = 300 * s
	}
	var first []Effect
	m.n, first = New(p, m.now)
	m.do(first)
	for range 300 {
		if m.n.State() == Ended {
			break
		}
		m.something()
	}
	// From now on the machine works, and the job ends.
	m.step(Signaled{Signal: SIGINT})
	limit := m.now.Add(200 * s)
	for m.n.State() != Ended {
		if m.now.After(limit) {
			t.Errorf("seed %d: %v, %d workers still run, 200 s after the stop", seed, m.n.State(), len(m.running))
			return
		}
		m.helpful()
	}
	if m.gone != m.begun {
		t.Errorf("seed %d: %d rounds were begun, %d are gone", seed, m.begun, m.gone)
	}
	if m.n.final == nil || m.n.ExitCode() < 0 {
		t.Errorf("seed %d: it has no end", seed)
	}
}

// something happens.
func (m *machine) something() {
	switch k := m.r.IntN(20); {
	case k < 6 && len(m.answers) > 0:
		m.deliver(m.r.IntN(len(m.answers)))
	case k < 8:
		m.now = m.now.Add(time.Duration(m.r.IntN(4000)) * time.Millisecond)
		m.step(Tick{})
	case k < 9:
		sigs := []Signal{SIGTERM, SIGINT, SIGHUP, SIGQUIT, 10, 12, SIGCONT, SIGTSTP, 28}
		if m.r.IntN(4) == 0 {
			m.step(Signaled{Signal: sigs[m.r.IntN(len(sigs))], Front: m.r.IntN(2) == 0})
		}
	case k < 11 && m.n.State() == Waiting && !m.ended && m.begun == m.gone && (m.joined || !m.n.policy.Preflight):
		if m.r.IntN(2) == 0 {
			m.step(Budget{rendezvous.Budget{Used: m.r.IntN(3)}})
		}
		m.begun++
		m.running = map[int]bool{}
		m.step(Begin{Round: m.begun, Step: step(int64(m.begun)), Path: "/c"})
	case k < 12 && m.begun > m.gone:
		m.step(Stop{Round: m.begun, Silent: m.r.IntN(3) == 0, Departure: m.r.IntN(2) == 0, Failure: []string{"", "Error", exitcodes.ReasonHang}[m.r.IntN(3)], Suspend: m.r.IntN(3) == 0, Expedite: m.r.IntN(4) == 0})
	case k < 14 && len(m.running) > 0:
		m.exit(m.any(), m.r.IntN(3))
	case k < 15 && len(m.running) > 0:
		m.step(Paused{Worker: m.any(), By: []Signal{0, SIGTSTP, SIGTTIN, SIGSTOP}[m.r.IntN(4)], Stopped: m.r.IntN(2) == 0})
	case k < 16:
		told := Report{Step: step(int64(m.r.IntN(9))), Saving: m.r.IntN(3) == 0}
		if m.looks { // and most of its ranks look at the file
			told.Most, told.Looks, told.Leaving = told.Step, m.r.IntN(9) > 0, m.r.IntN(5) == 0
		}
		all := Reported{told, told, told}
		m.step(all[:m.count])
	case k < 17 && m.begun > m.gone && m.looks && m.r.IntN(2) == 0:
		if m.r.IntN(2) == 0 {
			m.step(Ask{Round: m.begun})
			break
		}
		save := Save{Round: m.begun, Departure: m.r.IntN(2) == 0}
		if m.r.IntN(3) > 0 {
			save.Step = step(int64(m.r.IntN(12)))
		}
		m.step(save)
	case k < 17 && m.left > 0:
		m.left--
		m.aloneMaybe()
	case k < 18 && len(m.running) > 0:
		if m.r.IntN(2) == 0 {
			m.step(Hung{Why: "no step", Exiting: m.r.IntN(2) == 0, Failed: m.r.IntN(2) == 0})
		}
	case k == 19 && m.r.IntN(30) == 0 && !m.ended && m.begun == m.gone:
		m.ended = true
		m.step(End{End: rendezvous.End{Verdict: exitcodes.Fatal, Code: 3}, EndsJob: true})
	}
}

// helpful lets what is asked for happen at once, and time pass to what is due.
func (m *machine) helpful() {
	switch {
	case len(m.answers) > 0:
		m.deliver(0)
	case m.n.State() == Waiting && !m.ended && m.begun == m.gone:
		m.ended = true
		m.step(End{End: rendezvous.End{Verdict: exitcodes.Suspended, Code: 143}})
	default:
		due := m.n.Deadline()
		if due.Before(m.now) || due.IsZero() {
			due = m.now.Add(s)
		}
		m.now = due
		m.step(Tick{})
	}
}

func (m *machine) any() int {
	for i := range m.running {
		return i
	}
	return 0
}

func (m *machine) exit(i, code int) {
	if !m.running[i] {
		return
	}
	delete(m.running, i)
	m.step(Exited{Worker: i, Status: exitcodes.Status{Code: code}, At: m.now, Alone: m.isAlone()})
}

func (m *machine) isAlone() bool { return len(m.running) == 0 && m.left == 0 && !m.hook }

func (m *machine) aloneMaybe() {
	if m.isAlone() {
		m.step(Alone{})
	}
}

func (m *machine) deliver(i int) {
	ev := m.answers[i]
	m.answers = append(m.answers[:i:i], m.answers[i+1:]...)
	m.step(ev)
}

func (m *machine) step(ev Event) {
	if _, found := ev.(Probed); found {
		m.probing = false
	}
	m.do(m.n.Step(ev, m.now))
	if d := m.n.Deadline(); !d.IsZero() && d.Before(m.now.Add(-s)) {
		m.t.Errorf("a deadline that is over: %v in %v", m.now.Sub(d), m.n.State())
	}
}

func (m *machine) do(effects []Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case Prepare:
			p := Prepared{Workers: ranks(m.count), MayStart: m.r.IntN(8) > 0}
			if m.r.IntN(10) == 0 {
				p.Failure = &Failure{Why: "x", Code: 127}
			}
			m.answers = append(m.answers, p)
		case Abandon:
			m.dropPrepared()
		case Probe:
			if m.probing {
				m.t.Error("the machine is checked twice at once")
			}
			m.probing = true
			found := Probed{}
			if m.r.IntN(6) == 0 {
				found.Sick = []string{"x"}
			}
			m.answers = append(m.answers, found)
		case Join:
			m.joined = true
		case Fork:
			if m.probing {
				m.t.Error("a worker is started while the machine is checked")
			}
			if m.r.IntN(12) == 0 {
				m.step(NotForked{e.Worker, Failure{Why: "x"}})
				continue
			}
			m.running[e.Worker] = true
			m.left += m.r.IntN(2)
			m.step(Forked{Worker: e.Worker, PID: 10 + e.Worker})
		case Send:
			if e.Signal == SIGKILL && e.Worker == Hook && m.hook || e.Worker == Hook && e.Signal == SIGTERM && m.r.IntN(2) == 0 && m.hook {
				m.hook = false
				m.step(Exited{Worker: Hook, Status: exitcodes.Status{Signal: 9}, At: m.now, Alone: m.isAlone()})
			} else if e.Worker >= 0 && (e.Signal == SIGKILL || e.Signal == SIGTERM && m.r.IntN(3) == 0) && m.running[e.Worker] {
				delete(m.running, e.Worker)
				m.answers = append(m.answers, Exited{Worker: e.Worker, Status: exitcodes.Status{Signal: int(e.Signal)}, At: m.now, Alone: m.isAlone()})
			}
		case Gather:
			f := exitcodes.Judge(e.Outcome, exitcodes.NoRules())
			if m.r.IntN(3) == 0 && f.Role == exitcodes.RoleRoot {
				f.Role = exitcodes.RoleCascade
			}
			m.answers = append(m.answers, Judged{e.Worker, f})
		case Amend:
			var all []exitcodes.Finding
			for i := range m.n.workers {
				all = append(all, m.n.workers[i].finding)
			}
			a := Amended{Findings: all}
			if e.Hung && m.r.IntN(2) == 0 && len(all) > 0 {
				a.Hung = []int{m.r.IntN(len(all))}
			}
			m.answers = append(m.answers, a)
		case Dump:
			m.answers = append(m.answers, Dumped{[]int{0}[:m.r.IntN(2)]})
		case Sweep:
			found := make([]Process, m.left)
			if e.Signal == SIGKILL {
				m.left = 0
			}
			m.step(Swept{found})
		case Look:
			m.step(Looked{e.Worker, nil})
		case Gone:
			m.gone++
			if len(m.running) > 0 {
				m.t.Errorf("gone, and %d workers run", len(m.running))
			}
			m.dropPrepared()
		case StartHook:
			if m.r.IntN(4) == 0 {
				m.step(NotForked{Hook, Failure{Why: "x"}})
				continue
			}
			m.hook = true
			if m.r.IntN(2) == 0 {
				m.hook = false
				m.answers = append(m.answers, Exited{Worker: Hook, At: m.now, Alone: m.isAlone()})
			}
		case Tell:
			told := Told{Round: e.Round}
			if m.r.IntN(8) == 0 {
				told.Err = "x"
			}
			m.answers = append(m.answers, told)
		case FlushHook:
			m.answers = append(m.answers, HookFlushed{})
		case Flush:
			m.answers = append(m.answers, Flushed{})
		}
	}
}

// dropPrepared is what the shell does with a round that was given up.
func (m *machine) dropPrepared() {
	kept := m.answers[:0]
	for _, a := range m.answers {
		if _, found := a.(Prepared); !found {
			kept = append(kept, a)
		}
	}
	m.answers = kept
}
