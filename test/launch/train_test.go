package launch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestSameTraining trains under both, to the same loss, digit for digit.
func TestSameTraining(t *testing.T) {
	tests := []struct {
		name, script string
		flags, args  []string
		says         []string // in the output of both
		below        float64  // the final loss
	}{
		{"ddp", filepath.Join(harness.Root(), "examples", "train", "torch_ddp.py"), nil, words("--steps 60"),
			[]string{"step 60 loss"}, 0.2},
		// Of gangrun a restart is one restart: no rank meets the port or the keys of the first attempt. torchrun needs a
		// switch for that.
		{"elastic", harness.Script(t, "elastic.py"), []string{"--max-restarts", "1"}, []string{"{dir}/snapshot", "6"},
			[]string{"attempt 1 goes on at step 3"}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parallel(t)
			var lines []string
			for _, l := range []launcher{torchrun(t), gangrun(t)} {
				res, _ := l.run(t, job{flags: append(words("--standalone --nproc-per-node 2"), tt.flags...),
					script: tt.script, args: tt.args, env: words("TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1")})
				if res.Code != 0 {
					t.Fatalf("%s ended with %d\n%s\n%s", l.name, res.Code, res.Stdout, res.Stderr)
				}
				for _, text := range tt.says {
					if !strings.Contains(res.Stdout, text) {
						t.Errorf("%s does not say %q:\n%s", l.name, text, res.Stdout)
					}
				}
				lines = append(lines, finalLoss.FindString(res.Stdout))
			}
			if lines[0] != lines[1] {
				t.Errorf("torchrun: %s, gangrun: %s", lines[0], lines[1])
			}
			for _, line := range lines {
				if loss, err := strconv.ParseFloat(strings.Fields(line + " - - -")[2], 64); err != nil || loss > tt.below {
					t.Errorf("it has not learnt: %q", line)
				}
			}
		})
	}
}

var finalLoss = regexp.MustCompile(`(?m)^final loss .*$`)

// TestExamplesUnmodified runs scripts of the shape of PyTorch's own torchrun examples (small ones of ours: theirs need
// downloads), with the command lines of its documentation, through a gangrun that is called torchrun.
func TestExamplesUnmodified(t *testing.T) {
	tests := []struct {
		name, script string
		flags, args  []string
		file         string // is there afterwards
	}{
		{"toy", "toy.py",
			words("--nnodes=1 --nproc_per_node=2 --rdzv_id=100 --rdzv_backend=c10d --rdzv_endpoint=localhost:{port}"), nil, ""},
		{"images", "images.py", []string{"--nproc_per_node=2", "--master_addr=127.0.0.1", "--master_port={port}"},
			words("-a small --dist-backend gloo --epochs 2 -b=8 -j 1 --lr=0.05 {dir}/probe"), "probe/snapshot.pt"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parallel(t)
			var outputs [][]string
			for _, l := range []launcher{onPath(t, filepath.Dir(torchrun(t).argv[0])), onPath(t, symlinked(t))} {
				j := job{script: harness.Script(t, tt.script), args: tt.args}
				for _, f := range tt.flags {
					j.flags = append(j.flags, strings.ReplaceAll(f, "{port}", freePort(t)))
				}
				res, dir := l.run(t, j)
				if res.Code != 0 {
					t.Fatalf("exit code %d\n%s\n%s", res.Code, res.Stdout, res.Stderr)
				}
				if _, err := os.Stat(filepath.Join(dir, tt.file)); err != nil {
					t.Error(err)
				}
				outputs = append(outputs, slices.Sorted(strings.Lines(res.Stdout)))
			}
			if len(outputs[0]) != 2 || !slices.Equal(outputs[0], outputs[1]) {
				t.Errorf("torchrun: %q\ngangrun: %q", outputs[0], outputs[1])
			}
		})
	}
}

// onPath is whatever is called torchrun in a directory.
func onPath(t *testing.T, dir string) launcher {
	return launcher{dir, []string{"torchrun"}, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}}
}

// symlinked is a directory like the bin directory of a virtual environment in which torchrun is gangrun.
func symlinked(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(harness.Binary(t), dir+"/torchrun"); err != nil {
		t.Fatal(err)
	}
	// A link would not do: a virtual environment is found by the name that its Python is called by.
	writeProgram(t, dir+"/python", "#!/bin/sh\nexec "+harness.Peer(t, "torch/bin/python3")+" \"$@\"\n")
	return dir
}

func writeProgram(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestWhichPython: torchrun runs its workers with its own Python. gangrun has none, so it takes the one that is meant.
func TestWhichPython(t *testing.T) {
	dir := t.TempDir()
	for _, place := range []string{"told", "beside", "venv/bin", "path"} {
		for _, name := range []string{"python", "python3"} {
			writeProgram(t, filepath.Join(dir, place, name), "#!/bin/sh\necho "+place+"\n")
		}
	}
	if err := os.Symlink(harness.Binary(t), dir+"/beside/torchrun"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(harness.Binary(t), dir+"/torchrun"); err != nil {
		t.Fatal(err)
	}
	told, venv, path := "PYTHON_EXEC="+dir+"/told/python", "VIRTUAL_ENV="+dir+"/venv", "PATH="+dir+"/path:/usr/bin:/bin"
	tests := []struct {
		want string
		argv string
		env  []string
	}{
		{"told", "beside/torchrun", []string{told, venv, path}},
		{"beside", "beside/torchrun", []string{venv, path}},
		{"venv/bin", "torchrun", []string{venv, path}},
		{"path", "torchrun", []string{path}},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			l := launcher{ours, []string{filepath.Join(dir, tt.argv)}, tt.env}
			if tt.want == "path" {
				l.argv = append([]string{"env", "-u", "VIRTUAL_ENV"}, l.argv...)
			}
			res, _ := l.run(t, job{script: "train.py"})
			if res.Code != 0 || res.Stdout != tt.want+"\n" {
				t.Errorf("exit code %d, %q\n%s", res.Code, res.Stdout, res.Stderr)
			}
		})
	}
}
