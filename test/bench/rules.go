package main

import (
	"bytes"
	"fmt"
	"os/exec"
)

// rules runs the benchmark of package exitcodes.
func (l *lab) rules() error {
	few := "-benchtime=200ms"
	if l.quick {
		few = "-benchtime=10ms"
	}
	cmd := exec.CommandContext(l.ctx, "go", "test", "-run=^$", "-bench=^BenchmarkRulesPerLine$", few,
		fmt.Sprintf("-count=%d", l.times(10, 1)), "./exitcodes")
	cmd.Dir = l.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test: %w\n%s", err, out)
	}
	t := &table{title: "the built-in rules on a line that none of them fits, microseconds"}
	r := t.add("gangrun")
	r.budget = ruleBudget
	for line := range bytes.Lines(out) {
		var name string
		var times int
		var nanoseconds float64
		if n, _ := fmt.Sscanf(string(line), "%s %d %f ns/op", &name, &times, &nanoseconds); n == 3 {
			r.values = append(r.values, nanoseconds/1e3)
		}
	}
	if len(r.values) == 0 {
		return fmt.Errorf("no result in\n%s", out)
	}
	t.print()
	return nil
}
