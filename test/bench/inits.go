package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os/exec"
	"slices"
)

// packageInits shows the packages whose initialisation costs gangrun most, by its runtime's own account.
func (l *lab) packageInits() error {
	const shown = 5
	for _, p := range l.ours {
		costs := map[string][]float64{}
		for range l.times(20, 3) {
			cmd := exec.CommandContext(l.ctx, p.argv[0], append(p.argv[1:len(p.argv):len(p.argv)], "/bin/true")...)
			cmd.Env = append(environment(), "GODEBUG=inittrace=1")
			var trace bytes.Buffer
			cmd.Stderr = &trace
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			all := 0.0
			for line := range bytes.Lines(trace.Bytes()) {
				// runtime, "Environment Variables": init PACKAGE @TIME ms, TIME ms clock, ...
				var name string
				var at, took float64
				if n, _ := fmt.Sscanf(string(line), "init %s @%f ms, %f ms clock", &name, &at, &took); n == 3 {
					costs[name] = append(costs[name], took)
					all += took
				}
			}
			costs["all"] = append(costs["all"], all)
		}
		t := &table{title: "initialisation of packages of " + p.name + ", ms"}
		dearest := slices.SortedFunc(maps.Keys(costs), func(a, b string) int {
			return cmp.Compare(median(costs[b]), median(costs[a]))
		})
		for _, name := range dearest[:min(len(dearest), 1+shown)] {
			t.add(name).values = costs[name]
		}
		t.print()
	}
	return nil
}
