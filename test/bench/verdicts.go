package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:embed verdicts.py
var verdictsScript []byte

const (
	verdictsSeed  = 1
	verdictsCount = 40
	verdictTime   = 5 * time.Minute // for one failure, its restart included
)

// failure is a row of exitcodes/testdata/provoked/INDEX.tsv: a program that can be made to fail again.
type failure struct {
	name   string // of the case
	python string
	path   string // where python finds more; empty: nowhere
	before string
	after  string
	retry  bool // what an engineer decides for an unattended run
}

// verdicts counts who tries again exactly what trying again can help. The failures are those that the rules were checked
// against, provoked again: real libraries against servers on loopback, with errors that are got over before, and the noise of
// a dying interpreter after. Each launcher may restart once.
func (l *lab) verdicts() error {
	failures, err := l.failures()
	if err != nil {
		return err
	}
	noting := filepath.Join(l.dir, "verdicts.py")
	if err := os.WriteFile(noting, verdictsScript, 0o644); err != nil {
		return err
	}
	// In the place of torchrun, gangrun launch tries again what nothing explains, as that does. By default gangrun run does not.
	programs, _ := l.launchers(1, 1)
	for _, p := range l.oursWith("--max-restarts", "1", "--restart-backoff", "1ms:1ms") {
		programs = append(programs, program{p.name + " run", p.argv})
	}
	if path := l.peers[ftLauncherName]; path != "" {
		programs = append(programs, program{ftLauncherName, []string{path, "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0",
			"--nnodes", "1", "--nproc-per-node", "1", "--max-restarts", "1", "--no-python"}})
	}
	again := make([][]bool, len(programs)) // by program and failure
	for i := range again {
		again[i] = make([]bool, len(failures))
	}
	for k, f := range failures {
		errs := make([]error, len(programs))
		var all sync.WaitGroup
		for i, p := range programs { // side by side: nothing is timed here
			all.Go(func() { again[i][k], errs[i] = l.triesAgain(p, noting, f) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	printVerdicts(programs, failures, again)
	return nil
}

func printVerdicts(programs []program, failures []failure, again [][]bool) {
	fmt.Printf("\nverdicts: %d failures of real programs (seed %d): who tries again exactly those that it can help\n", len(failures), verdictsSeed)
	lines := [][]string{{"", "right", "tried again, and it can help", "not tried, and it cannot"}}
	var wrong []string
	for i, p := range programs {
		var worth, hopeless, tried, spared int
		for k, f := range failures {
			switch {
			case f.retry && again[i][k]:
				tried++
			case !f.retry && !again[i][k]:
				spared++
			default:
				wrong = append(wrong, p.name+": "+f.name)
			}
			if f.retry {
				worth++
			} else {
				hopeless++
			}
		}
		lines = append(lines, []string{p.name, fmt.Sprintf("%d of %d", tried+spared, len(failures)),
			fmt.Sprintf("%d of %d", tried, worth), fmt.Sprintf("%d of %d", spared, hopeless)})
	}
	printAligned(lines)
	if ours := slices.DeleteFunc(wrong, func(s string) bool { return !strings.HasPrefix(s, "gangrun") }); len(ours) > 0 {
		fmt.Println("wrong: " + strings.Join(ours, ", "))
	}
}

// triesAgain reports whether the launcher starts the program that fails a second time.
func (l *lab) triesAgain(p program, noting string, f failure) (bool, error) {
	dir, err := os.MkdirTemp(l.dir, "verdicts-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	starts := filepath.Join(dir, "starts")
	ctx, cancel := context.WithTimeout(l.ctx, verdictTime)
	defer cancel()
	argv := slices.Concat(p.argv, []string{"/usr/bin/python3", noting, starts, f.python, filepath.Join(l.root, "test/peers/provoke/programs/field.py"),
		f.before, f.name, f.after})
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(environment(), "HOME="+dir, "PROVOKED_IN="+dir, "TF_CPP_MIN_LOG_LEVEL=1", "JAX_PLATFORMS=cpu",
		"HF_HUB_DISABLE_TELEMETRY=1", "USE_TF=0", "OMP_NUM_THREADS=1")
	if f.path != "" {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+f.path)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return false, fmt.Errorf("%s: %s: not over after %v", p.name, f.name, verdictTime)
	}
	if err == nil {
		return false, fmt.Errorf("%s: %s did not fail:\n%s", p.name, f.name, lastLines(out))
	}
	text, err := os.ReadFile(starts)
	if err != nil {
		return false, fmt.Errorf("%s: %s was not started: %w\n%s", p.name, f.name, err, lastLines(out))
	}
	return strings.Count(string(text), "start") > 1, nil
}

// lastLines are enough to see why.
func lastLines(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// pythons are the peers with which failures are provoked, and what runs them there.
var pythons = map[string]string{
	"torch": "torch/bin/python3", "savers": "torch/bin/python3", "tensorflow": "tensorflow/bin/python3", "jax": "jax/bin/python3",
}

// failures are those that are measured: of the programs that can be run here, and of which it is beyond dispute what is to
// be done.
func (l *lab) failures() ([]failure, error) {
	index, err := os.ReadFile(filepath.Join(l.root, "exitcodes/testdata/provoked/INDEX.tsv"))
	if err != nil {
		return nil, err
	}
	var all []failure
	for line := range strings.Lines(string(index)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) != 6 || cells[2] != "retry" && cells[2] != "fatal" {
			continue
		}
		f := failure{
			name: strings.ReplaceAll(strings.TrimSuffix(cells[0], ".log"), "-", "_"), python: "/usr/bin/python3",
			before: cells[4], after: cells[5], retry: cells[2] == "retry",
		}
		if cells[3] != "plain" {
			of, within, _ := strings.Cut(pythons[cells[3]], "/")
			if f.python = filepath.Join(l.place(of), within); pythons[cells[3]] == "" {
				continue
			}
		}
		if cells[3] == "savers" {
			f.path = l.place("savers")
		}
		if _, err := os.Stat(f.python); err == nil {
			all = append(all, f)
		}
	}
	rand.New(rand.NewPCG(verdictsSeed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), l.times(verdictsCount, 3))], nil
}
