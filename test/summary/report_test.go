package main

import (
	"reflect"
	"strings"
	"testing"
)

// events are what go test -json prints of three packages: one that skips, one that fails, one that ends in the middle.
const events = `
{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestTorch"}
{"Action":"output","Package":"a","Test":"TestTorch","Output":"=== RUN   TestTorch\n"}
{"Action":"output","Package":"a","Test":"TestTorch/whole","Output":"    a_test.go:12: torch is missing (torch/bin/python3): make peers\n"}
{"Action":"output","Package":"a","Test":"TestTorch/whole","Output":"    --- SKIP: TestTorch/whole (0.00s)\n"}
{"Action":"skip","Package":"a","Test":"TestTorch/whole"}
{"Action":"pass","Package":"a","Test":"TestTorch"}
{"Action":"output","Package":"a","Test":"TestOther","Output":"    a_test.go:15: other words\n"}
{"Action":"output","Package":"a","Test":"TestOther","Output":"    b_test.go:19: torch is missing (torch/bin/torchrun): make peers\n"}
{"Action":"skip","Package":"a","Test":"TestOther"}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"output","Package":"a","Output":"ok  \ta\t0.1s\n"}
{"Action":"pass","Package":"a"}
{"Action":"output","Package":"b","Test":"TestGood","Output":"noise\n"}
{"Action":"pass","Package":"b","Test":"TestGood"}
{"Action":"output","Package":"b","Test":"TestBad","Output":"    b_test.go:3: broken\n"}
{"Action":"output","Package":"b","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"b","Test":"TestBad"}
{"Action":"output","Package":"b","Output":"FAIL\tb\t0.1s\n"}
{"Action":"fail","Package":"b"}
{"Action":"output","Package":"c","Test":"TestHangs","Output":"panic: test timed out after 1s\n"}
{"Action":"output","Package":"c","Output":"FAIL\tc\t1s\n"}
{"Action":"fail","Package":"c"}
{"Action":"skip","Package":"d"}
{"ImportPath":"e","Action":"build-output","Output":"e.go:1: syntax error\n"}
not from go test
`

const shown = "ok  \ta\t0.1s\n" +
	"    b_test.go:3: broken\n--- FAIL: TestBad (0.00s)\nFAIL\tb\t0.1s\n" +
	"FAIL\tc\t1s\npanic: test timed out after 1s\n" +
	"e.go:1: syntax error\nnot from go test\n"

func TestReport(t *testing.T) {
	var out strings.Builder
	r := report{out: &out, beyond: []string{"operators: make test-operators"}}
	if err := r.read(strings.NewReader(strings.TrimPrefix(events, "\n"))); err != nil || out.String() != shown {
		t.Errorf("%v, it shows\n%s\nwant\n%s", err, out.String(), shown)
	}
	out.Reset()
	good := r.summarize(false)
	if want := "\nNot tested:\n  torch: 2 tests; make peers\n  operators: make test-operators\n"; !good || out.String() != want {
		t.Errorf("%v, %s\nwant %s", good, out.String(), want)
	}
	if r.summarize(true) {
		t.Error("in CI too, all is well")
	}
}

// TestNothingSkipped and what only -short leaves out are no failure in CI.
func TestNothingSkipped(t *testing.T) {
	var out strings.Builder
	r := report{out: &out}
	if !r.summarize(true) || out.String() != "\nNothing was skipped.\n" {
		t.Errorf("%q", out.String())
	}
	r.skipped = map[missing]int{{"takes a minute", longer}: 1}
	if !r.summarize(true) {
		t.Error("what takes long is not part of CI")
	}
}

func TestReason(t *testing.T) {
	for line, want := range map[string]missing{
		"    x.go:1: root is missing: run the tests as root\n":                      {"root", "run the tests as root"},
		"    x.go:1: may not mount: permission denied: run the tests as root\n":     {"may not mount: permission denied", "run the tests as root"},
		"    x.go:1: no terminals here\n":                                           {"no terminals here", ""},
		"    x.go:1: a network (ip: exit status 1) is missing: install iproute2 \n": {"a network", "install iproute2 "},
		"--- SKIP: TestX (0.00s)\n":                                                 {"no reason given", ""},
	} {
		if got := reason([]string{line}); got != want {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	runs, beyond := split(strings.Fields("-beyond x -beyond y ./a -short + -C d ./... +"))
	if want := [][]string{{"./a", "-short"}, {"-C", "d", "./..."}}; !reflect.DeepEqual(runs, want) || !reflect.DeepEqual(beyond, []string{"x", "y"}) {
		t.Errorf("%q, %q", runs, beyond)
	}
	if runs, _ := split(nil); runs != nil {
		t.Errorf("%q", runs)
	}
}
