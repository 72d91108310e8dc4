package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// settle is how long a program gets to calm down before its memory is measured.
const settle = 500 * time.Millisecond

// memory measures the resident memory of each init alone, and of torchrun with two ranks, while the workers sleep.
func (l *lab) memory() error {
	resident := &table{title: "resident while the worker sleeps, MiB", peers: []string{"tini", "torchrun, 2 ranks"}}
	anonymous := &table{title: "of that not backed by a file, MiB", peers: []string{"tini", "torchrun, 2 ranks"}}
	programs := append(l.inits(), l.torchrun("torchrun, 2 ranks", 2)...)
	resident.addPrograms(programs, l.ours, residentBudget)
	anonymous.addPrograms(programs, l.ours, anonBudget)
	for round := range l.times(10, 1) {
		for i, p := range programs {
			if l.ctx.Err() != nil {
				return l.ctx.Err()
			}
			workers := 1
			if p.name == "torchrun, 2 ranks" {
				if round >= l.torchrunTimes(3) {
					continue
				}
				workers = 2
			}
			rss, anon, err := l.memoryOf(p, workers)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			resident.rows[i].values = append(resident.rows[i].values, rss)
			anonymous.rows[i].values = append(anonymous.rows[i].values, anon)
		}
	}
	resident.print()
	anonymous.print()
	return nil
}

func (l *lab) memoryOf(p program, workers int) (rss, anon float64, err error) {
	s, err := begin(p, []string{l.probe, "hold"}, nil)
	if err != nil {
		return 0, 0, err
	}
	defer s.stop()
	for range workers {
		if _, err := s.listen(); err != nil {
			return 0, 0, err
		}
	}
	time.Sleep(settle)
	return residentOf(s.cmd.Process.Pid)
}

// residentOf reads VmRSS and RssAnon of proc_pid_status(5), in MiB.
func residentOf(pid int) (rss, anon float64, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	found := map[string]float64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		var kib float64
		if _, err := fmt.Sscan(value, &kib); err == nil {
			found[name] = kib / 1024
		}
	}
	if found["VmRSS"] == 0 {
		return 0, 0, fmt.Errorf("/proc/%d/status has no VmRSS", pid)
	}
	return found["VmRSS"], found["RssAnon"], nil
}
