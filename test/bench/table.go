package main

import (
	"fmt"
	"slices"
	"strings"
)

// table is what one measurement found: a row for each program.
type table struct {
	title string // with the unit
	// base is the row whose values are taken off the others', round by round; empty for no such column.
	base  string
	peers []string // whose medians the others are divided by
	more  bool     // is better
	rows  []*row
}

type row struct {
	name   string
	values []float64 // one for each round
	budget budget
}

// budget is what a median should not exceed, or not fall below where more is better.
type budget float64

const (
	noBudget       budget = 0
	wholeRunBudget budget = 20  // ms
	gangRunBudget  budget = 25  // ms
	residentBudget budget = 32  // MiB, with the file's pages, which others share and the kernel takes back
	anonBudget     budget = 15  // MiB
	restartBudget  budget = 10  // ms
	outputBudget   budget = 500 // MB for a second of one processor
	ruleBudget     budget = 1   // microsecond
	chooseBudget   budget = 100 // ms
)

// add makes a row without values.
func (t *table) add(name string) *row {
	r := &row{name: name}
	t.rows = append(t.rows, r)
	return r
}

// addPrograms makes a row for each program; those that the budget is for get it.
func (t *table) addPrograms(list, ours []program, b budget) {
	for _, p := range list {
		r := t.add(p.name)
		if slices.ContainsFunc(ours, func(o program) bool { return o.name == p.name }) {
			r.budget = b
		}
	}
}

func (t *table) row(name string) *row {
	for _, r := range t.rows {
		if r.name == name && len(r.values) > 0 {
			return r
		}
	}
	return nil
}

func (t *table) print() {
	fmt.Printf("\n%s\n", t.title)
	bad, part := "p90", 0.9 // what one round in ten exceeds
	if t.more {
		bad, part = "p10", 0.1
	}
	head := []string{"", "n", "median", bad}
	if t.base != "" {
		head = append(head, "over "+t.base)
	}
	var peers []*row
	for _, name := range t.peers {
		if r := t.row(name); r != nil {
			peers = append(peers, r)
			head = append(head, "/ "+name)
		}
	}
	lines := [][]string{append(head, "budget")}
	for _, r := range t.rows {
		if len(r.values) == 0 {
			continue
		}
		cells := []string{r.name, fmt.Sprint(len(r.values)), number(median(r.values)), number(quantile(r.values, part))}
		if t.base != "" {
			cells = append(cells, number(median(r.over(t.row(t.base)))))
		}
		for _, peer := range peers {
			cells = append(cells, ratio(median(r.values), median(peer.values)))
		}
		lines = append(lines, append(cells, r.budget.say(median(r.values), t.more)))
	}
	printAligned(lines)
}

// printAligned puts names to the left of their columns and numbers to the right.
func printAligned(lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, line := range lines {
		var b strings.Builder
		last := len(line) - 1
		fmt.Fprintf(&b, "  %-*s", widths[0], line[0])
		for i := 1; i < last; i++ {
			fmt.Fprintf(&b, "  %*s", widths[i], line[i])
		}
		fmt.Println(strings.TrimRight(b.String()+"  "+line[last], " "))
	}
}

func ratio(v, peer float64) string {
	if peer == 0 {
		return "-"
	}
	if v < peer/20 {
		return fmt.Sprintf("1/%.0f", peer/v)
	}
	return fmt.Sprintf("%.2f", v/peer)
}

// over is how much longer than base each round took.
func (r *row) over(base *row) []float64 {
	if base == nil {
		return nil
	}
	var more []float64
	for i := range min(len(r.values), len(base.values)) {
		more = append(more, r.values[i]-base.values[i])
	}
	return more
}

func (b budget) say(v float64, more bool) string {
	sign, kept := "<=", v <= float64(b)
	if more {
		sign, kept = ">=", v >= float64(b)
	}
	switch {
	case b == noBudget:
		return ""
	case kept:
		return fmt.Sprintf("%s %s kept", sign, number(float64(b)))
	}
	return fmt.Sprintf("%s %s MISSED", sign, number(float64(b)))
}

// number has three significant digits or more.
func number(v float64) string {
	switch {
	case v >= 100 || v <= -100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile is the smallest value that the given part of all does not exceed; the mean of two where that is between them.
func quantile(values []float64, part float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := part * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}
