package supervisor

import (
	"slices"
	"sync"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/supervisor/evidence"
	"github.com/gangrun/gangrun/supervisor/node"
)

// How long evidence is waited for.
const (
	drainTime     = 250 * time.Millisecond // what is still in the pipes: more is needed only when a log file's disk is slow
	errorFileTime = 500 * time.Millisecond
)

// machine is what the machine knows about why processes ended.
type machine struct {
	memory evidence.CgroupMemory

	mu        sync.Mutex // workers may end at the same time
	kernelLog *evidence.KernelLog
	oomKills  int // when the round began
}

func findMachine() *machine {
	return &machine{memory: evidence.FindCgroupMemory("/"), kernelLog: evidence.OpenKernelLog()}
}

// begin sets the mark before which nothing counts as evidence.
func (m *machine) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kernelLog.Skip()
	m.oomKills, _ = m.memory.OOMKills()
}

// tell adds what the machine knows about the round.
func (m *machine) tell(o *exitcodes.Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o.Xids, o.Kills = m.kernelLog.Xids(), m.kernelLog.Kills()
	if n, ok := m.memory.OOMKills(); ok {
		o.OOMKills = n - m.oomKills
	}
	if shm, ok := evidence.SharedMemory(); ok {
		o.SharedMemoryFull = shm.Full()
	}
}

func (m *machine) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kernelLog.Close()
	m.kernelLog = nil
}

// gather gathers the evidence about a worker that has ended, once, and judges it by that.
func (s *Supervisor) gather(g node.Gather) {
	o := g.Outcome
	if g.Worker >= len(s.round.workers) { // it stands for a round that could not be made ready
		s.round.workers = append(s.round.workers, &worker{spec: Worker{Rank: o.Rank, LocalRank: o.LocalRank}})
	}
	v := s.round.workers[g.Worker]
	s.besideEvent(func() node.Event {
		v.rules = exitcodes.NoRules()
		if g.Evidence > node.StatusOnly {
			s.machine.tell(&o)
		}
		if g.Evidence >= node.WithOutput {
			o.Output, o.Arrived = v.lastOutput()
		}
		if g.Evidence == node.Everything {
			v.errorData = v.readErrorFile()
			o.ErrorFile, o.StartedAt, o.Unseen = v.errorData, v.startedAt, v.unseen
			v.rules = s.cfg.Rules()
		}
		v.outcome, v.finding = o, judge(o, v.rules)
		return node.Judged{Worker: g.Worker, Finding: v.finding}
	})
}

// amend judges those that have failed by themselves once more, if the machine knows more by now.
func (s *Supervisor) amend(hung bool) {
	workers, c := s.round.workers, s.hangCase()
	s.besideEvent(func() node.Event {
		var findings []exitcodes.Finding
		for _, w := range workers {
			now := w.outcome
			if w.outcome.Stop == exitcodes.NotStopped {
				s.machine.tell(&now)
			}
			if !sameMachine(now, w.outcome) {
				w.outcome, w.finding = now, judge(now, w.rules)
			}
			findings = append(findings, w.finding)
		}
		ev := node.Amended{Findings: findings}
		if hung {
			ev.Hung = s.blame(c, workers, findings)
		} else {
			s.tellDumps(workers)
		}
		return ev
	})
}

func sameMachine(a, b exitcodes.Outcome) bool {
	return a.OOMKills == b.OOMKills && a.SharedMemoryFull == b.SharedMemoryFull && slices.Equal(a.Xids, b.Xids)
}

// lastOutput is the last output, including what was still in the pipes at the end, and when it came.
func (w *worker) lastOutput() ([]byte, []exitcodes.Arrival) {
	deadline := time.Now().Add(drainTime)
	for _, stream := range w.streams {
		stream.Drain(deadline)
	}
	return w.tail.Read()
}

// readErrorFile returns what this round's worker wrote: nothing if the file is an older one.
func (w *worker) readErrorFile() []byte {
	data, _ := task.Within(errorFileTime, func() ([]byte, error) {
		if !w.ownErrorFile && evidence.IdentifyFile(w.errorFile) == w.errorBefore {
			return nil, nil
		}
		return evidence.ReadErrorFile(w.errorFile), nil
	}, nil)
	return data
}

// concluded reports how the round ended.
func (s *Supervisor) concluded(c node.Concluded) {
	if s.cfg.RoundEnded == nil {
		return
	}
	r := Round{Number: c.Round, Cause: c.Cause}
	for i, w := range s.round.workers {
		r.Workers = append(r.Workers, Ended{
			Worker: w.spec, PID: w.pid, Finding: c.Findings[i], Status: w.outcome.Status, Stop: c.Stops[i],
			StartedAt: w.startedAt, At: w.outcome.At, ErrorData: w.errorData, Output: w.tail.Bytes(),
		})
	}
	s.cfg.RoundEnded(r)
}
