package gang

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// debuggers of Python, as modules and as commands.
var debuggers = []string{"pdb", "ipdb", "pudb"}

// nativeDebuggers are put before a command.
var nativeDebuggers = []string{"gdb", "cuda-gdb", "lldb"}

var python = regexp.MustCompile(`^python[0-9.]*$`)

// WithoutDebugger is the same command without python's -m pdb, and reports whether it had that: for the ranks that have
// no terminal. There a debugger would read the end of its input at once, and leave before the first line of the script.
func WithoutDebugger(argv []string) ([]string, bool) {
	if len(argv) == 0 || !python.MatchString(filepath.Base(argv[0])) {
		return argv, false
	}
	at := 1
	for at < len(argv) && strings.HasPrefix(argv[at], "-") && argv[at] != "-m" && argv[at] != "-c" {
		if argv[at] == "-W" || argv[at] == "-X" {
			at++
		}
		at++
	}
	if at+2 >= len(argv) || argv[at] != "-m" || !slices.Contains(debuggers, argv[at+1]) {
		return argv, false
	}
	rest := argv[at+2:]
	for len(rest) > 1 && (rest[0] == "-c" || rest[0] == "--command") { // the debugger's own commands
		rest = rest[2:]
	}
	return slices.Concat(argv[:at], rest), true
}

// debugs reports whether a command before that of a rank is a debugger.
func debugs(before []string) bool {
	return len(before) > 0 && slices.Contains(nativeDebuggers, filepath.Base(before[0]))
}
