package main

import (
	"fmt"
	"math"
	"strings"
)

const us = "gangrun"

// peers are those that the table has a column for, by the names under which the benchmark prints them: torch is its
// rendezvous, as torchrun uses it.
var peers = []struct {
	head  string
	names []string
}{
	{"torchrun 2.15", []string{"torchrun", "torch"}},
	{"ft_launcher 0.4.1", []string{"ft_launcher"}},
	{"dlrover-run 0.6.1", []string{"dlrover-run"}},
	{"tini", []string{"tini"}},
}

// of returns the median of the first of these that was measured.
func (r result) of(names []string) (float64, bool) {
	for _, name := range names {
		if v, ok := r.medians[name]; ok {
			return v, true
		}
	}
	return 0, false
}

// beside is the table of ratios: how many times as much the peers need.
func beside(results []result) string {
	var b strings.Builder
	b.WriteString("| medians | gangrun |")
	for _, p := range peers {
		fmt.Fprintf(&b, " %s |", p.head)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(peers)+1) + "\n")
	for _, r := range results {
		ours := r.medians[us]
		fmt.Fprintf(&b, "| %s | %s |", r.name, plain(ours))
		for _, p := range peers {
			if v, ok := r.of(p.names); ok {
				fmt.Fprintf(&b, " **%s ×** (%s) |", times(v/ours), plain(v))
			} else {
				b.WriteString(" |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// plain is a number as the benchmark prints it, with commas.
func plain(v float64) string {
	s := fmt.Sprintf("%.3g", v)
	if v >= 100 {
		s = fmt.Sprintf("%.0f", v)
	}
	if len(s) > 3 && v >= 1000 {
		s = s[:len(s)-3] + "," + s[len(s)-3:]
	}
	return s
}

// times has two significant digits.
func times(v float64) string {
	if v <= 0 {
		return "0"
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return plain(math.Round(v/unit) * unit)
}
