package main

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"
)

// restart measures the time from the death of a worker (SIGKILL) to the first instruction of its successor. The first
// failure of a run is a case of its own: only then are the rules read.
func (l *lab) restart() error {
	flags := []string{"--max-restarts", "1000000", "--max-same-failure", "0", "--restart-backoff", "0s"}
	ours := l.oursWith(flags...)
	first := &table{title: "death of a worker to its successor, the first of a run, ms", peers: []string{"torchrun"}}
	later := &table{title: "the same, any later one, ms", peers: []string{"torchrun"}}
	programs := ours
	if path := l.peers["torchrun"]; path != "" {
		programs = append(programs, program{"torchrun",
			[]string{path, "--standalone", "--nproc-per-node", "1", "--max-restarts", "1000000", "--no-python"}})
	}
	first.addPrograms(programs, l.ours, restartBudget)
	later.addPrograms(programs, l.ours, restartBudget)

	var subjects []*victim
	defer func() {
		for _, v := range subjects {
			v.stop()
		}
	}()
	for _, p := range programs {
		v, err := l.newVictim(p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		subjects = append(subjects, v)
	}
	for round := range l.times(50, 5) {
		for i, p := range programs {
			if l.ctx.Err() != nil {
				return l.ctx.Err()
			}
			if p.name == "torchrun" && round%5 > 0 {
				continue
			}
			if round == 0 || p.name != "torchrun" {
				took, err := l.firstRestart(p)
				if err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
				first.rows[i].values = append(first.rows[i].values, took)
			}
			took, err := subjects[i].restart()
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if round > 0 || l.quick { // the first of the run
				later.rows[i].values = append(later.rows[i].values, took)
			}
		}
	}
	first.print()
	later.print()
	return nil
}

func (l *lab) firstRestart(p program) (float64, error) {
	v, err := l.newVictim(p)
	if err != nil {
		return 0, err
	}
	defer v.stop()
	return v.restart()
}

// victim is a supervisor whose worker is killed again and again.
type victim struct {
	*subject
	worker told
}

func (l *lab) newVictim(p program) (*victim, error) {
	s, err := begin(p, []string{l.probe, "hold"}, nil)
	if err != nil {
		return nil, err
	}
	word, err := s.listen()
	if err != nil {
		s.stop()
		return nil, err
	}
	return &victim{s, word}, nil
}

// restart kills the worker and waits for the next. Before that it waits long enough for the supervisor to calm down,
// and not always the same time, so that one that looks at its workers now and then is caught at any point of that.
func (v *victim) restart() (float64, error) {
	time.Sleep(50*time.Millisecond + rand.N(150*time.Millisecond))
	killed := clock()
	if err := syscall.Kill(v.worker.pid, syscall.SIGKILL); err != nil {
		return 0, fmt.Errorf("the worker is not there any more: %w", err)
	}
	word, err := v.listen()
	v.worker = word
	return milliseconds(word.at - killed), err
}
