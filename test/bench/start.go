package main

import (
	"fmt"
	"os"
	"syscall"
)

// start measures, for each init and for torchrun with one rank, the time from its fork to the first instruction of the
// worker, and a whole run of /bin/true; both as an ordinary process and as PID 1, which torchrun is not made for.
func (l *lab) start() error {
	modes := []struct {
		name string
		attr *syscall.SysProcAttr
	}{
		{"", nil},
		{" as PID 1", namespaced},
	}
	if os.Geteuid() != 0 {
		modes = modes[:1]
	}
	inits := append([]program{{name: "bare"}}, l.inits()...)
	programs := append(inits[:len(inits):len(inits)], l.torchrun(torchrunName, 1)...)
	var tables []*table
	for _, m := range modes {
		first := &table{title: "start to the worker's first instruction" + m.name + ", ms", base: "bare", peers: []string{"tini", torchrunName}}
		whole := &table{title: "a whole run of /bin/true" + m.name + ", ms", base: "bare", peers: []string{"tini", torchrunName}}
		first.addPrograms(programs, nil, noBudget)
		whole.addPrograms(programs, l.ours, wholeRunBudget)
		tables = append(tables, first, whole)
	}
	rounds := l.times(200, 5)
	for round := range rounds {
		for m, mode := range modes {
			for i, p := range programs {
				if l.ctx.Err() != nil {
					return l.ctx.Err()
				}
				if i >= len(inits) && (mode.attr != nil || !l.torchrunsTurn(round, rounds, 3)) {
					continue
				}
				first, err := l.firstInstruction(p, mode.attr)
				if err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
				whole, err := wholeRun(p, mode.attr)
				if err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
				for j, value := range []float64{first, whole} {
					r := tables[2*m+j].rows[i]
					r.values = append(r.values, value)
				}
			}
		}
	}
	for _, t := range tables {
		t.print()
	}
	return nil
}

func (l *lab) firstInstruction(p program, attr *syscall.SysProcAttr) (float64, error) {
	s, err := begin(p, []string{l.probe}, attr)
	if err != nil {
		return 0, err
	}
	word, err := s.listen()
	if err != nil {
		s.stop()
		return 0, err
	}
	return milliseconds(word.at - s.started), s.end()
}

func wholeRun(p program, attr *syscall.SysProcAttr) (float64, error) {
	s, err := begin(p, []string{"/bin/true"}, attr)
	if err != nil {
		return 0, err
	}
	err = s.end()
	return milliseconds(clock() - s.started), err
}
