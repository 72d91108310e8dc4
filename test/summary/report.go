package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// longer is what brings the tests that -short leaves out.
const longer = "make test-long"

// event is a line of go test -json: go doc test2json.
type event struct {
	Action, Package, Test, Output string
}

// report reads what go test does, shows what it would show without -json, and keeps what was skipped.
type report struct {
	out     io.Writer
	beyond  []string
	skipped map[missing]int // the number of tests
	printed map[[2]string][]string
}

// missing is why a test was skipped.
type missing struct{ what, remedy string }

// read reads until the events end. Invalid lines are shown as they are.
func (r *report) read(events io.Reader) error {
	if r.skipped == nil {
		r.skipped = make(map[missing]int)
	}
	r.printed = make(map[[2]string][]string) // by package and test, as long as they run
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				_, _ = r.out.Write(line)
			} else {
				r.take(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) take(e event) {
	key := [2]string{e.Package, e.Test}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(r.out, e.Output)
	case e.Action == "output" && e.Test == "":
		if e.Output != "PASS\n" { // -v says it, which -json brings with it
			fmt.Fprint(r.out, e.Output)
		}
	case e.Action == "output":
		r.printed[key] = append(r.printed[key], e.Output)
	case e.Action == "skip" && e.Test != "":
		r.skipped[reason(r.printed[key])]++
		delete(r.printed, key)
	case e.Action == "pass":
		delete(r.printed, key)
	case e.Action == "fail":
		r.show(func(k [2]string) bool { return k == key || e.Test == "" && k[0] == e.Package }) // those that did not end, too
	}
}

// show shows what tests have printed, and forgets it.
func (r *report) show(which func([2]string) bool) {
	for _, key := range slices.SortedFunc(maps.Keys(r.printed), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		if !which(key) {
			continue
		}
		for _, line := range r.printed[key] {
			if !strings.HasPrefix(line, "=== ") {
				fmt.Fprint(r.out, line)
			}
		}
		delete(r.printed, key)
	}
}

// where begins the line that a test prints when it skips: "    file_test.go:12: ".
var where = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

// detail is what a missing piece's name may end in: which file of it, the system's error.
var detail = regexp.MustCompile(`( is missing)?( \([^()]*\))?( is missing)?$`)

// reason finds the reason in what the test has printed.
func reason(printed []string) missing {
	text := ""
	for _, line := range printed {
		if m := where.FindStringSubmatch(line); m != nil {
			text = m[1]
		}
	}
	if text == "" {
		return missing{"no reason given", ""}
	}
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return missing{detail.ReplaceAllString(text[:i], ""), text[i+2:]}
	}
	return missing{text, ""}
}

// summarize prints the block. It reports false where tests were skipped that must not be.
func (r *report) summarize(complete bool) bool {
	good := true
	fmt.Fprintln(r.out)
	if len(r.skipped)+len(r.beyond) == 0 {
		fmt.Fprintln(r.out, "Nothing was skipped.")
		return good
	}
	fmt.Fprintln(r.out, "Not tested:")
	for _, m := range slices.SortedFunc(maps.Keys(r.skipped), func(a, b missing) int {
		return cmp.Or(cmp.Compare(a.remedy, b.remedy), cmp.Compare(a.what, b.what))
	}) {
		tests, remedy := "tests", m.remedy
		if r.skipped[m] == 1 {
			tests = "test"
		}
		if remedy != "" {
			remedy = "; " + remedy
		}
		fmt.Fprintf(r.out, "  %s: %d %s%s\n", m.what, r.skipped[m], tests, remedy)
		good = good && (!complete || m.remedy == longer)
	}
	for _, text := range r.beyond {
		fmt.Fprintf(r.out, "  %s\n", text)
	}
	if !good {
		fmt.Fprintln(r.out, "CI is set, and tests were skipped: install what is missing.")
	}
	return good
}
