package run_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestHelp is there for every command, each with an example, on standard output and with nothing done.
func TestHelp(t *testing.T) {
	bin := harness.Binary(t)
	top := harness.Run(t, limit, nil, bin, "--help")
	section := regexp.MustCompile(`(?s)Commands:\n(.*?)\n\n`).FindStringSubmatch(top.Stdout)
	if top.Code != 0 || section == nil {
		t.Fatalf("exit code %d:\n%s%s", top.Code, top.Stdout, top.Stderr)
	}
	var commands []string
	says := map[string]string{} // by command: what it does
	for line := range strings.Lines(section[1]) {
		command, does, _ := strings.Cut(strings.TrimSpace(line), " ")
		commands, says[command] = append(commands, command), strings.TrimSpace(does)
	}
	if len(commands) < 3 {
		t.Fatalf("commands %q in\n%s", commands, top.Stdout)
	}
	for _, command := range commands {
		for _, flag := range []string{"--help", "-h"} {
			res := harness.Run(t, limit, nil, bin, command, flag)
			if res.Code != 0 || res.Stderr != "" {
				t.Errorf("%s %s: exit code %d, %q", command, flag, res.Code, res.Stderr)
			}
			if !strings.Contains(res.Stdout, "Example: ") || !strings.Contains(res.Stdout, "gangrun "+command) {
				t.Errorf("%s %s has no example:\n%s", command, flag, res.Stdout)
			}
			if want := "\ngangrun " + command + ": " + says[command] + "\n"; command != "help" && !strings.Contains(res.Stdout, want) {
				t.Errorf("%s %s does not say %q:\n%s", command, flag, want, res.Stdout)
			}
		}
	}
	for _, command := range commands {
		long := harness.Run(t, limit, nil, bin, command, "--help").Stdout
		for _, argv := range [][]string{{"help", command}, {command, "x", "--help"}} {
			if argv[1] == "x" && (command == "run" || command == "launch" || command == "local" ||
				command == "checkpoint" || command == "help") {
				continue // x is the command, or its own
			}
			if res := harness.Run(t, limit, nil, append([]string{bin}, argv...)...); res.Code != 0 || res.Stdout != long && command != "help" {
				t.Errorf("%q: exit code %d, not the help of %s: %q%q", argv, res.Code, command, res.Stdout, res.Stderr)
			}
		}
	}
	for _, argv := range [][]string{{"status", "--help-all"}, {"checkpoint", "ls", "--help-all"}, {"doctor", "--help-all"}} {
		short := append(slices.Clone(argv[:len(argv)-1]), "--help")
		want := harness.Run(t, limit, nil, append([]string{bin}, short...)...).Stdout
		if res := harness.Run(t, limit, nil, append([]string{bin}, argv...)...); res.Code != 0 || res.Stdout != want {
			t.Errorf("%q: exit code %d, not what %q says: %q%q", argv, res.Code, short, res.Stdout, res.Stderr)
		}
	}
	for command, few := range map[string]int{"run": 12, "launch": 12, "local": 12} {
		short := harness.Run(t, limit, nil, bin, command, "--help").Stdout
		all := harness.Run(t, limit, nil, bin, command, "--help-all").Stdout
		if want := "\ngangrun " + command + ": " + says[command] + "\n"; !strings.Contains(all, want) {
			t.Errorf("%s --help-all does not say %q", command, want)
		}
		if strings.Count(all, "\n  -") <= strings.Count(short, "\n  -") || !strings.Contains(short, command+" --help-all lists all") {
			t.Errorf("%s: %d flags of %d", command, strings.Count(short, "\n  -"), strings.Count(all, "\n  -"))
		}
		if n := strings.Count(short, "\n  -"); command == "run" && n != few {
			t.Errorf("%s --help shows %d flags", command, n)
		}
	}
	if !strings.Contains(top.Stdout, "xample") {
		t.Errorf("gangrun --help has no example:\n%s", top.Stdout)
	}
	if v := harness.Run(t, limit, nil, bin, "--version"); v.Code != 0 || !strings.HasPrefix(v.Stdout, "gangrun version ") {
		t.Errorf("exit code %d, %q", v.Code, v.Stdout)
	}
}
