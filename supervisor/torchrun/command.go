package torchrun

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// runPath does what a worker of --run-path does in torchrun: it runs the script in an interpreter that records the
// script's exception in the error file.
const runPath = `import runpy, sys
from torch.distributed.elastic.multiprocessing.errors import record

def run_script_path():
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")

record(run_script_path)()
`

// Command is a worker's command line: python with the script, or with --no-python the script alone. $local_rank and
// ${local_rank} are filled in the script and its arguments, though not in the program of --no-python.
func Command(o Options, python string, localRank int) []string {
	fill := func(s string) string {
		return Substitute(s, func(name string) (string, bool) { return strconv.Itoa(localRank), name == "local_rank" })
	}
	var command []string
	switch {
	case o.RunPath:
		command = []string{python, "-u", "-c", runPath, fill(o.Script)}
	case o.NoPython:
		command = []string{o.Script}
	case o.Module:
		command = []string{python, "-u", "-m", fill(o.Script)}
	default:
		command = []string{python, "-u", fill(o.Script)}
	}
	for _, arg := range o.Args {
		command = append(command, fill(arg))
	}
	return command
}

// Title is the name under which torchrun's report says that the run failed: the script or module, or the program of
// --no-python. (With a PYTHON_EXEC that is not its own Python, torchrun names that Python; here it is the script.)
func (o Options) Title() string {
	switch {
	case o.RunPath:
		return "run_script_path"
	case o.NoPython:
		return o.Script
	}
	for _, arg := range slices.Concat([]string{o.Script}, o.Args) {
		if !strings.HasPrefix(arg, "-") {
			return arg
		}
	}
	return ""
}

// FindPython is the Python for the workers. torchrun uses PYTHON_EXEC or the Python that runs it; a launcher without
// one looks beside the torchrun that it stands for (the directory beside; "" for none), then in an active virtual
// environment, then along PATH, for python3 before python. When there is none, it is "python3".
func FindPython(lookup func(string) (string, bool), beside string, exists func(path string) bool) string {
	if python, _ := lookup("PYTHON_EXEC"); python != "" {
		return python
	}
	if python := pythonIn(beside, exists); python != "" {
		return python
	}
	if venv, _ := lookup("VIRTUAL_ENV"); venv != "" {
		if python := pythonIn(filepath.Join(venv, "bin"), exists); python != "" {
			return python
		}
	}
	path, _ := lookup("PATH")
	for _, name := range []string{"python3", "python"} {
		for _, directory := range filepath.SplitList(path) {
			if candidate := filepath.Join(directory, name); filepath.IsAbs(directory) && exists(candidate) {
				return candidate
			}
		}
	}
	return "python3"
}

func pythonIn(directory string, exists func(string) bool) string {
	for _, name := range []string{"python3", "python"} {
		if candidate := filepath.Join(directory, name); directory != "" && exists(candidate) {
			return candidate
		}
	}
	return ""
}
