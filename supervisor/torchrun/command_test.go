package torchrun

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	for _, tt := range []struct {
		line  string
		want  []string
		title string
	}{
		{"t-$local_rank.py a$$b ${local_rank}", []string{"py", "-u", "t-3.py", "a$b", "3"}, "t-$local_rank.py"},
		{"-m pkg.mod --x", []string{"py", "-u", "-m", "pkg.mod", "--x"}, "pkg.mod"},
		{"--no-python ./a$$b $$", []string{"./a$$b", "$"}, "./a$$b"},
		{"--run-path --no-python s.py $local_rank", []string{"py", "-u", "-c", runPath, "s.py", "3"}, "run_script_path"},
		{"- -x y", []string{"py", "-u", "-", "-x", "y"}, "y"},
		{"- -x", []string{"py", "-u", "-", "-x"}, ""},
	} {
		o := mustParse(t, tt.line, nil)
		if got := Command(o, "py", 3); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
		}
		if got := o.Title(); got != tt.title {
			t.Errorf("%s: title %q, want %q", tt.line, got, tt.title)
		}
	}
}

// The program of --run-path must be Python; that it runs a script right is seen with torch, end to end.
func TestRunPathCompiles(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing: install python3")
	}
	err = exec.Command(python, "-c", "import sys; compile(sys.argv[1], 'x', 'exec')", runPath).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Errorf("%v: %s", err, exit.Stderr)
	} else if err != nil {
		t.Error(err)
	}
}

func TestFindPython(t *testing.T) {
	for _, tt := range []struct {
		name, beside, files, want string
		env                       map[string]string
	}{
		{"told", "/opt/bin", "/opt/bin/python3", "/x/py", map[string]string{"PYTHON_EXEC": "/x/py"}},
		{"beside", "/opt/bin", "/opt/bin/python3 /opt/bin/python /v/bin/python3", "/opt/bin/python3",
			map[string]string{"VIRTUAL_ENV": "/v", "PYTHON_EXEC": ""}},
		{"beside, the other name", "/opt/bin", "/opt/bin/python /v/bin/python3", "/opt/bin/python",
			map[string]string{"VIRTUAL_ENV": "/v"}},
		{"virtual environment", "/opt/bin", "/v/bin/python /p/python3", "/v/bin/python",
			map[string]string{"VIRTUAL_ENV": "/v", "PATH": "/p"}},
		{"path", "", "/q/python3 /p/python python3", "/q/python3", map[string]string{"PATH": ":rel:/p:/q"}},
		{"path, the other name", "", "/q/python", "/q/python", map[string]string{"PATH": "/p:/q"}},
		{"nowhere", "", "", "python3", nil},
	} {
		exists := func(path string) bool { return slices.Contains(strings.Fields(tt.files), path) }
		if got := FindPython(environment(tt.env), tt.beside, exists); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func FuzzSubstitute(f *testing.F) {
	f.Add("a$$b ${local_rank} $local_rank $")
	f.Fuzz(func(t *testing.T, text string) {
		// What names nothing known changes only by its $$, and nothing is left out.
		unchanged := Substitute(text, func(string) (string, bool) { return "", false })
		if strings.ReplaceAll(unchanged, "$", "") != strings.ReplaceAll(text, "$", "") {
			t.Errorf("%q became %q", text, unchanged)
		}
		if escaped := Substitute(strings.ReplaceAll(text, "$", "$$"), nil); escaped != text {
			t.Errorf("%q, escaped, became %q", text, escaped)
		}
	})
}
