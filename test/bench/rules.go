package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
)

// judgeBudget is how long one judgement of 64 KiB may take, whatever they hold, in milliseconds.
const judgeBudget = 20

// rules runs the benchmarks of package exitcodes.
func (l *lab) rules() error {
	few := "-benchtime=200ms"
	if l.quick {
		few = "-benchtime=10ms"
	}
	cmd := exec.CommandContext(l.ctx, "go", "test", "-run=^$", "-bench=^Benchmark(RulesPerLine|Judge64KiB)$", few,
		fmt.Sprintf("-count=%d", l.times(10, 1)), "./exitcodes")
	cmd.Dir = l.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test: %w\n%s", err, out)
	}
	t := &table{title: "the built-in rules on a line that none of them fits, microseconds"}
	r := t.add("gangrun")
	r.budget = ruleBudget
	judged := &table{title: "one judgement of 64 KiB of output, milliseconds"}
	rows := map[string]*row{}
	for line := range bytes.Lines(out) {
		var name string
		var times int
		var nanoseconds float64
		if n, _ := fmt.Sscanf(string(line), "%s %d %f ns/op", &name, &times, &nanoseconds); n != 3 {
			continue
		}
		_, output, found := strings.Cut(name, "/")
		if !found {
			r.values = append(r.values, nanoseconds/1e3)
			continue
		}
		output = strings.ReplaceAll(output[:strings.LastIndexByte(output+"-", '-')], "_", " ")
		if rows[output] == nil {
			rows[output] = judged.add(output)
			rows[output].budget = judgeBudget
		}
		rows[output].values = append(rows[output].values, nanoseconds/1e6)
	}
	if len(r.values) == 0 || len(rows) == 0 {
		return fmt.Errorf("no result in\n%s", out)
	}
	t.print()
	judged.print()
	return nil
}
