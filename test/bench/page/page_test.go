package main

import (
	"os"
	"strings"
	"testing"
)

// TestPage: table and picture are those of what was printed, and README.md says no other figures.
func TestPage(t *testing.T) {
	const printed, page, drawn = "../../../docs/benchmarks.txt", "../../../docs/benchmarks.md", "../../../docs/benchmarks.svg"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := run(printed, page, drawn); err != nil {
			t.Fatal(err)
		}
	}
	text, svg, err := report(printed)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{page: begins + text, drawn: svg} {
		if got, err := os.ReadFile(path); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s has something else (%v); go run ./test/bench/page writes:\n%s", path, err, want)
		}
	}
}

func TestRows(t *testing.T) {
	head := "           n  median   p90  / tini  budget"
	for in, want := range map[string]string{
		head + "\n  gangrun    5    4.21  4.22   0.58  <= 5.00 kept\n\n": "",
		head + "\n  gangrun    5\n\n":                                    "no median",
		head + "\n  gangrun    5    x\n\n":                               "invalid syntax",
		head + "\n  tini    5    4.21\n\n":                               "no gangrun",
	} {
		medians, err := rows(strings.Split(in, "\n"))
		if want == "" && (err != nil || medians[us] != 4.21) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v; want %q", in, medians, err, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0.1: "0.1", 16.8: "16.8", 997: "997", 1386: "1,386", 39265: "39,265"} {
		if got := plain(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0.102: "0.1", 3.6: "3.6", 82.5: "83", 1864: "1,900"} {
		if got := times(v); got != want {
			t.Errorf("%v times: %s, want %s", v, got, want)
		}
	}
}
