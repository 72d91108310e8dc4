// Summary runs go test as often as it is told and ends with one block that names what was not tested, and what would
// bring it:
//
//	go run ./test/summary [-beyond TEXT]... ARGUMENTS OF GO TEST [+ ARGUMENTS OF GO TEST]...
//
// go test itself calls a package ok of which every test was skipped. What a test says when it skips is, by convention,
// "what is missing: what brings it".
//
// It prints what go test prints, runs all of them even if one fails, and exits with 1 if one has. Where the environment
// has CI, a skipped test is a failure too: what runs there is to be complete. Except for what -short leaves out.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

func main() {
	runs, beyond := split(os.Args[1:])
	if len(runs) == 0 {
		fmt.Fprintln(os.Stderr, "summary: want the arguments of go test")
		os.Exit(2)
	}
	r := report{out: os.Stdout, beyond: beyond}
	failed := false
	for _, args := range runs {
		began := time.Now()
		err := run(&r, args)
		if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
			fmt.Fprintln(os.Stderr, "summary:", err)
		}
		failed = failed || err != nil
		fmt.Printf("(go test %s: %s)\n", strings.Join(args, " "), time.Since(began).Round(time.Second))
	}
	if !r.summarize(os.Getenv("CI") != "") || failed {
		os.Exit(1)
	}
}

// split takes the command line apart: what each go test is given, and what is told besides.
func split(args []string) (runs [][]string, beyond []string) {
	for len(args) >= 2 && args[0] == "-beyond" {
		beyond, args = append(beyond, args[1]), args[2:]
	}
	for len(args) > 0 {
		end := slices.Index(args, "+")
		if end < 0 {
			end = len(args)
		}
		if end > 0 {
			runs = append(runs, args[:end])
		}
		args = args[min(end+1, len(args)):]
	}
	return runs, beyond
}

// run runs one go test.
func run(r *report, args []string) error {
	var dir []string
	if len(args) >= 2 && args[0] == "-C" { // has to come first
		dir, args = args[:2], args[2:]
	}
	goTool := os.Getenv("GO")
	if goTool == "" {
		goTool = "go"
	}
	cmd := exec.Command(goTool, slices.Concat([]string{"test"}, dir, []string{"-json"}, args)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := r.read(events)
	return errors.Join(readErr, cmd.Wait())
}
