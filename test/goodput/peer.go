package main

import "time"

// peer recovers as something else does: in fixed times, from the newest checkpoint, with a spare always there.
type peer struct {
	detect [kinds]time.Duration
	stop   time.Duration
	form   time.Duration
}

func (p peer) recover(k kind, _, _, _, checkpoint time.Duration) recovery {
	return recovery{detect: p.detect[k], stop: p.stop, form: p.form, resume: checkpoint}
}

// Of others. docs/goodput.md says whose they are, and which are measured.
const (
	torchrunRestart = 2020 * time.Millisecond          // two nodes, the death of a worker to its successor's start
	kubernetesLost  = 50*time.Second + 300*time.Second // a dead node is seen, and its pods are given up
)

// torchrun sees the death of a worker. A lost node and a hang it does not: NCCL's watchdog ends the ranks.
func torchrun(a assumptions) peer {
	return peer{
		detect: [kinds]time.Duration{lost: a.watchdog, hangs: a.watchdog},
		stop:   a.stop, form: torchrunRestart,
	}
}

// pods is an operator that creates all pods of the job again, within a time.
func pods(a assumptions, within time.Duration) peer {
	return peer{
		detect: [kinds]time.Duration{lost: min(kubernetesLost, a.watchdog), hangs: a.watchdog},
		stop:   a.stop, form: within,
	}
}
