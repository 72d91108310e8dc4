package main

import (
	"fmt"
	"strconv"
	"strings"
)

// shown are the measurements beside launchers and inits. Each is found by the beginning of the title that it was printed
// under, the nth that begins so.
var shown = []struct {
	name, title string
	nth         int
}{
	{"a whole run of `true`, ms", "a whole run of /bin/true, ms", 0},
	{"two ranks: until the last has started, ms", "launch: start to", 0},
	{"two ranks: a whole run that does nothing, ms", "launch: a whole run", 0},
	{"one of two ranks dies: until both run again, ms", "the same, any later one, ms", 1},
	{"one of two nodes fails: until both start again, ms", "rounds: 2 nodes, one's failure", 0},
	{"one of 8 nodes", "rounds: 8 nodes, one's failure", 0},
	{"one of 64 nodes", "rounds: 64 nodes, one's failure", 0},
	{"a rank is killed: until both run again, s", "hangs: from a rank's kill", 0},
	{"a rank hangs: until both run again, s", "hangs: from a rank's hang", 0},
	{"resident while 8 ranks sleep, MiB", "launch: resident while", 0},
	{"of that not backed by a file, MiB", "of that not backed by a file, MiB", 1},
}

// result is one measurement: the medians by program.
type result struct {
	name    string
	medians map[string]float64
}

// read finds what is shown in what the benchmark printed.
func read(printed string) ([]result, error) {
	lines := strings.Split(printed, "\n")
	var results []result
	for _, s := range shown {
		at, left := -1, s.nth
		for i, line := range lines {
			if strings.HasPrefix(line, s.title) {
				if left == 0 {
					at = i
					break
				}
				left--
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("nothing below %q (%d)", s.title, s.nth)
		}
		medians, err := rows(lines[at+1:])
		if err != nil {
			return nil, fmt.Errorf("below %q: %w", s.title, err)
		}
		results = append(results, result{s.name, medians})
	}
	return results, nil
}

// rows are the medians of one table: after a head, each line has a name, how often it was measured, and the median.
func rows(lines []string) (map[string]float64, error) {
	medians := map[string]float64{}
	for _, line := range lines[1:] {
		name, rest, cut := strings.Cut(strings.TrimSpace(line), "  ")
		if !cut {
			break
		}
		cells := strings.Fields(rest)
		if len(cells) < 2 {
			return nil, fmt.Errorf("%q: no median", line)
		}
		v, err := strconv.ParseFloat(cells[1], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		medians[name] = v
	}
	if medians[us] == 0 {
		return nil, fmt.Errorf("no %s", us)
	}
	return medians, nil
}
