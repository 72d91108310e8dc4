package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/supervisor"
)

// configure resolves flags, variables and a configuration file as run does, without running anything.
func configure(t *testing.T, flags map[string][]string, env map[string]string, file string) (*options, error) {
	t.Helper()
	o := defaultOptions()
	settings := o.runSettings()
	if file != "" {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		flags = mergeFlags(flags, "config", path)
	}
	for _, s := range settings {
		s.given = flags[s.name]
	}
	err := resolve(settings, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err == nil {
		err = o.adaptGrace()
	}
	return o, err
}

func mergeFlags(flags map[string][]string, name, value string) map[string][]string {
	merged := map[string][]string{name: {value}}
	for k, v := range flags {
		merged[k] = v
	}
	return merged
}

func TestFlagOutranksVariableOutranksFile(t *testing.T) {
	file := "grace: 3s\nmax-restarts: 7\nrestart-grace: 1s\nsignal-map: ['15:10', 'INT:0']\nquiet: true\n"
	o, err := configure(t, map[string][]string{"grace": {"1s"}},
		map[string]string{"GANGRUN_GRACE": "2s", "GANGRUN_MAX_RESTARTS": "8"}, file)
	if err != nil {
		t.Fatal(err)
	}
	if o.Grace != time.Second || o.spec.Restarts.Max != 8 || o.RestartGrace != time.Second || !o.quiet {
		t.Errorf("grace %v, max restarts %d, restart grace %v, quiet %v", o.Grace, o.spec.Restarts.Max, o.RestartGrace, o.quiet)
	}
	if o.SignalMap[unix.SIGTERM] != unix.SIGUSR1 || o.SignalMap[unix.SIGINT] != 0 || len(o.SignalMap) != 2 {
		t.Errorf("signal map %v", o.SignalMap)
	}
	if o.spec.Restarts.MaxSameFailure != 2 || o.Leftovers != supervisor.LeftoversKill {
		t.Errorf("defaults are lost: %+v", o.Config)
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	tests := []struct {
		name  string
		flags map[string][]string
		env   map[string]string
		file  string
		want  string
	}{
		{"a flag", map[string][]string{"grace": {"banana"}}, nil, "", "--grace banana: want a duration such as 25s"},
		{"a variable", nil, map[string]string{"GANGRUN_GRACE": "banana"}, "", "variable GANGRUN_GRACE=banana: want a duration"},
		{"a line of the file", nil, nil, "quiet: true\ngrace: banana\n", "c.yaml:2: grace: banana: want a duration"},
		{"an unknown key", nil, nil, "graze: 1s\n", `c.yaml:1: unknown key "graze"; did you mean grace?`},
		{"a key twice", nil, nil, "grace: 1s\ngrace: 2s\n", "c.yaml"},
		{"a structure", nil, nil, "grace: {a: b}\n", "c.yaml:1: grace: want a value"},
		{"no mapping", nil, nil, "- grace\n", "want a mapping"},
		{"no YAML", nil, nil, "{", "c.yaml"},
		{"a file that names a file", nil, nil, "config: x\n", "c.yaml:1: config cannot be set in a configuration file"},
		{"a key of another command", nil, nil, "nproc-per-node: 2\n", `c.yaml:1: unknown key "nproc-per-node"; it is a setting of gangrun launch`},
		{"a key of a third", nil, nil, "tty-rank: 1\n", `unknown key "tty-rank"; it is a setting of gangrun local`},
		{"a negative duration", map[string][]string{"grace": {"-1s"}}, nil, "", "--grace -1s"},
		{"a number too large", map[string][]string{"max-restarts": {"99999999999999999999"}}, nil, "", "want a number from 0 to"},
		{"a fatal retry code", map[string][]string{"retry-code": {"3"}}, nil, "", "want a number from 128 to 255"},
		{"nodes that are no number", map[string][]string{"nodes": {"two"}}, nil, "",
			"--nodes two: want N, MIN:MAX or sizes such as 2,4,8, each from 1 to 4096"},
		{"half a range", map[string][]string{"nodes": {"2:"}}, nil, "", "--nodes 2:: want N, MIN:MAX"},
		{"a range upside down", map[string][]string{"nodes": {"4:2"}}, nil, "",
			"--nodes 4:2: the least, 4, is above the most, 2: want MIN:MAX"},
		{"a choice", map[string][]string{"leftovers": {"kil"}}, nil, "", "want one of kill, term, leave; did you mean kill?"},
		{"a signal", map[string][]string{"signal-map": {"15:NOPE"}}, nil, "", `"NOPE" is not a signal`},
		{"a signal that nobody can catch", map[string][]string{"signal-map": {"9:15"}}, nil, "", "SIGKILL cannot be caught"},
		{"a map without a colon", map[string][]string{"signal-map": {"15"}}, nil, "", "want FROM:TO"},
		{"a window", map[string][]string{"restart-window": {"10"}}, nil, "", "want a number and a time such as 10/1h"},
		{"an empty window", map[string][]string{"restart-window": {"10/0s"}}, nil, "", "cannot be 0"},
		{"a backoff that shrinks", map[string][]string{"restart-backoff": {"2s:1s"}}, nil, "", "cannot be below the first"},
		{"a message too small", map[string][]string{"termination-log-max": {"10"}}, nil, "", "want a number from 256 to 4096"},
		{"graces that contradict", map[string][]string{"grace": {"60s"}, "pod-grace": {"30s"}}, nil, "", "--grace 1m0s has to be below --pod-grace 30s"},
		{"a level", map[string][]string{"log-level": {"loud"}}, nil, "", "--log-level loud"},
		{"no bool", nil, map[string]string{"GANGRUN_QUIET": "maybe"}, "", "GANGRUN_QUIET=maybe: want true or false"},
		{"a missing file", map[string][]string{"config": {"/no/such/file"}}, nil, "", "/no/such/file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := configure(t, tt.flags, tt.env, tt.file)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

func TestTheDefaultGraceAdapts(t *testing.T) {
	for pod, want := range map[string]time.Duration{"60s": 25 * time.Second, "25s": 20 * time.Second, "10s": 7500 * time.Millisecond, "1s": 750 * time.Millisecond} {
		o, err := configure(t, map[string][]string{"pod-grace": {pod}}, nil, "")
		if err != nil || o.Grace != want {
			t.Errorf("pod grace %s: grace %v, %v; want %v", pod, o.Grace, err, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"max-restarts", "grace", "quiet", "ls", "--hang", "-n", "--restart-backoff"}
	for in, want := range map[string]string{
		"max-restart": "; did you mean max-restarts?", "graec": "; did you mean grace?", "xyzzy": "", "": "",
		"lss": "; did you mean ls?", "l": "", "rm": "", "--hagn": "; did you mean --hang?",
		"--wrong": "", "--nang": "; did you mean --hang?", "-x": "", "--": "",
		"--restart-back-of": "; did you mean --restart-backoff?", "--restart-policy": "",
		"sl": "; did you mean ls?", "garce": "; did you mean grace?", "uqiet": "; did you mean quiet?", "quit": "; did you mean quiet?",
	} {
		if got := nearest(in, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestTimesToStop is how long workers have before SIGKILL: what was set, what is left of the pod's time, the notice's and
// the run's, and less while these are short.
func TestTimesToStop(t *testing.T) {
	for _, tt := range []struct {
		flags               map[string][]string
		grace, save, notice time.Duration
	}{
		{nil, 25 * time.Second, 0, 25 * time.Second},
		{map[string][]string{"pod-grace": {"1m"}}, 25 * time.Second, 55 * time.Second, 25 * time.Second},
		{map[string][]string{"pod-grace": {"20s"}}, 15 * time.Second, 15 * time.Second, 15 * time.Second},
		{map[string][]string{"notice-signal": {"USR1@2m"}}, 25 * time.Second, 0, 115 * time.Second},
		{map[string][]string{"notice-signal": {"USR1@8s"}}, 25 * time.Second, 0, 6 * time.Second},
		{map[string][]string{"notice-signal": {"USR1@2m", "USR2"}, "grace": {"9s"}}, 9 * time.Second, 0, 9 * time.Second},
		{map[string][]string{"time-limit": {"1h"}}, 25 * time.Second, 0, 25 * time.Second},
		{map[string][]string{"time-limit": {"16s"}}, 4 * time.Second, 0, 4 * time.Second},
		{map[string][]string{"time-limit": {"40s"}}, 10 * time.Second, 0, 10 * time.Second},
		{map[string][]string{"time-limit": {"16s"}, "pod-grace": {"8s"}}, 4 * time.Second, 6 * time.Second, 4 * time.Second},
	} {
		o, err := configure(t, tt.flags, nil, "")
		if err != nil {
			t.Errorf("%v: %v", tt.flags, err)
			continue
		}
		if o.Grace != tt.grace || o.SaveGrace != tt.save || o.Notice.Grace != tt.notice {
			t.Errorf("%v: grace %v, to save %v, after a notice %v; want %v, %v, %v", tt.flags,
				o.Grace, o.SaveGrace, o.Notice.Grace, tt.grace, tt.save, tt.notice)
		}
	}
}

func FuzzConfigFile(f *testing.F) {
	f.Add([]byte("grace: 3s\nsignal-map: [a, b]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _ = readConfig(path, defaultOptions().runSettings())
	})
}
