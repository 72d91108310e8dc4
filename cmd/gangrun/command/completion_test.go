package command

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// TestBashCompletes has bash complete what somebody has typed, in the words that it makes of it: the last one is where
// the cursor is.
func TestBashCompletes(t *testing.T) {
	p := new(program)
	var script bytes.Buffer
	bashCompletion(&script, completable(&cli.App{Commands: []*cli.Command{launchCommand(p), checkpointCommand(p), explainCommand()}}))
	for _, test := range []struct{ typed, want string }{
		{"e", "explain"},
		{"checkpoint v", "verify"},
		{"explain --out", "--output"},
		{"launch --framework h", "hf"},
		{"launch --framework = h", "hf"},
		{"launch --framework=h", "--framework=hf"},
		{"launch --hang =", "act observe off"},
		{"launch --hang=", "--hang=act --hang=observe --hang=off"},
		{"launch --hang ", "act observe off"},
		{"launch --hang=observe --log-level d", "debug"},
		{"launch --hang = observe --log-level = d", "debug"},
		{"launch --start-method fork", "fork forkserver"},
		{"launch --checkpoint-format = torch", "torchtitan torch_snapshot"},
		{"checkpoint ls --format=torch", "--format=torchtitan --format=torch_snapshot"},
		{"launch --log-dir = /t", ""}, // files
		{"launch tr", ""},
	} {
		call := exec.Command("bash", "-c", script.String()+`
			COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
			_gangrun
			echo "${COMPREPLY[*]}"`, "bash", "gangrun")
		call.Args = append(call.Args, strings.Split(test.typed, " ")...)
		out, err := call.CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v\n%s", test.typed, err, out)
		}
		got, want := strings.Fields(string(out)), strings.Fields(test.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", test.typed, got, want)
		}
	}
}

// TestFishCompletes offers the values of a flag that has no others, and of no other flag.
func TestFishCompletes(t *testing.T) {
	var script bytes.Buffer
	fishCompletion(&script, completable(&cli.App{Commands: []*cli.Command{launchCommand(new(program))}}))
	for line := range strings.Lines(script.String()) {
		switch {
		case strings.Contains(line, " -l hang ") && !strings.Contains(line, " -x -a 'act observe off'"),
			strings.Contains(line, " -l start-method ") && !strings.Contains(line, " -x -a 'spawn fork forkserver'"),
			strings.Contains(line, " -l log-dir ") && strings.Contains(line, " -x "):
			t.Error(line)
		}
	}
	if n := strings.Count(script.String(), " -x -a "); n < 10 {
		t.Errorf("%d flags have values", n)
	}
}
