package run_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestMistakes is everything that can be wrong about a command line and what it refers to: exit code 64, one line that
// says what was wrong and where, and nothing started.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	number := 0
	rules := func(text string) []string {
		number++
		return []string{"run", "--rules", file(fmt.Sprintf("rules-%d.yaml", number), "rules:\n  - name: mine\n    "+text)}
	}
	tests := []struct {
		name string
		argv []string // up to the worker's "--"
		env  []string
		says []string
	}{
		{"an unknown flag", []string{"run", "--max-restart", "3"}, nil, []string{"--max-restart", "max-restarts?"}},
		{"a flag like none", []string{"run", "--xyzzy"}, nil, []string{"--xyzzy"}},
		{"a short flag", []string{"run", "-n", "3"}, nil, []string{"-n"}},
		{"no duration", []string{"run", "--grace", "banana"}, nil, []string{"--grace banana", "25s"}},
		{"no unit", []string{"run", "--grace", "30"}, nil, []string{"--grace 30", "25s"}},
		{"a variable", []string{"run"}, []string{"GANGRUN_GRACE=banana"}, []string{"GANGRUN_GRACE=banana"}},
		{"graces that contradict", []string{"run", "--grace", "60s", "--pod-grace", "30s"}, nil, []string{"--grace", "--pod-grace 30s"}},
		{"graces that are equal", []string{"run", "--grace", "30s", "--pod-grace", "30s"}, nil, []string{"--grace", "--pod-grace"}},
		{"an unknown key", []string{"run", "--config", file("key.yaml", "quiet: true\ngraze: 3s\n")}, nil,
			[]string{"key.yaml:2", "graze", "grace?"}},
		{"a wrong value in the file", []string{"run", "--config", file("value.yaml", "\nquiet: maybe\n")}, nil,
			[]string{"value.yaml:2", "quiet", "maybe"}},
		{"no YAML", []string{"run", "--config", file("no.yaml", "{")}, nil, []string{"no.yaml"}},
		{"no such file", []string{"run", "--config", "/no/such/file"}, nil, []string{"/no/such/file"}},
		{"rules with a broken pattern", rules("role: root\n    verdict: retry\n    pattern: '('\n"), nil,
			[]string{".yaml:", "mine", "("}},
		{"rules with an unknown role", rules("role: rooot\n    pattern: x\n"), nil, []string{".yaml:", "rooot"}},
		{"rules with an unknown key", rules("role: root\n    patern: x\n"), nil, []string{".yaml:", "patern"}},
		{"no rules file", []string{"run", "--rules", "/no/such/rules"}, nil, []string{"--rules", "/no/such/rules"}},
		{"a choice", []string{"run", "--on-exhausted", "retyr"}, nil, []string{"--on-exhausted retyr", "retry?"}},
		{"a retry code that says fatal", []string{"run", "--retry-code", "1"}, nil, []string{"--retry-code 1", "128"}},
		{"a number below", []string{"run", "--max-restarts", "-1"}, nil, []string{"--max-restarts -1"}},
		{"a message too large", []string{"run", "--termination-log-max", "10000"}, nil, []string{"--termination-log-max 10000", "4096"}},
		{"a window", []string{"run", "--restart-window", "10"}, nil, []string{"--restart-window 10", "10/1h"}},
		{"an unknown signal", []string{"run", "--signal-map", "15:FOO"}, nil, []string{"--signal-map 15:FOO"}},
		{"a TrainJob that is none", []string{"run", "--trainjob-progress", "on"}, nil, []string{"--trainjob-progress on", "KUBEFLOW_TRAINER_SERVER_URL", "TrainJobStatus"}},
		{"a TrainJob without a token", []string{"run", "--trainjob-progress", "on"},
			[]string{"KUBEFLOW_TRAINER_SERVER_URL=https://x/y", "KUBEFLOW_TRAINER_SERVER_CA_CERT=/ca"}, []string{"KUBEFLOW_TRAINER_SERVER_TOKEN is not set"}},
		{"days", []string{"run", "--join-timeout", "1d"}, nil, []string{"--join-timeout 1d", "48h"}},
		{"nothing", []string{"run", "--grace", ""}, nil, []string{`--grace "": want a duration`}},
		{"no value in the file", []string{"run", "--config", file("none.yaml", "grace:\n")}, nil, []string{`none.yaml:1: grace: "": want`}},
		{"a key in capitals", []string{"run", "--config", file("capitals.yaml", "GRACE: 3s\n")}, nil, []string{`"GRACE"`, "did you mean grace?"}},
		{"a rank too high", []string{"run", "--nodes", "2", "--node-rank", "2", "--endpoint", "127.0.0.1"}, nil, []string{"--node-rank 2", "number of nodes, 2"}},
		{"the beginning of a choice", []string{"run", "--checkpoint-dir", dir, "--checkpoint-format", "hf"}, nil, []string{"did you mean hf_trainer?"}},
		{"a value that is a flag", []string{"run", "--job", "--max-restarts", "3"}, nil, []string{"--job: a value is missing"}},
		{"a value that is the command", []string{"run", "--log-dir"}, nil, []string{"--log-dir: a value is missing"}},
		{"nodes that are no number", []string{"run"}, []string{"PET_NNODES=two", "MASTER_ADDR=a"}, []string{"PET_NNODES=two"}},
		{"nodes of Slurm that are no number", []string{"run"}, []string{"SLURM_JOB_ID=1", "SLURM_STEP_ID=0", "SLURM_NTASKS=x"}, []string{"SLURM_NTASKS=x"}},
		{"rules that are a text", []string{"run", "--rules", file("text.yaml", "hello")}, nil, []string{"text.yaml: line 1: want a mapping, not the text `hello`"}},
		{"rules that are empty", []string{"run", "--rules", file("empty.yaml", "")}, nil, []string{"empty.yaml: it is empty; want rules:"}},
		{"rules in two documents", []string{"run", "--rules", file("two.yaml", "rules: []\n---\nrules: []\n")}, nil, []string{"two.yaml:2: a second document"}},
		{"a rule without a role", rules("pattern: x\n"), nil, []string{"has no role"}},
		{"a rule of other types", rules("role: root\n    exitCodes: x\n    literals: 3\n"), nil, []string{"line 4: want a list, not the text `x`; line 5: "}},
		{"-n of local", []string{"local", "-n2"}, nil, []string{"-n2; did you mean -n 2?"}},
		{"-np of mpirun", []string{"local", "-np", "2"}, nil, []string{"unknown flag -np; did you mean -n 2?"}},
		{"-np of mpirun without a number", []string{"local", "-np"}, nil, []string{"unknown flag -np; gangrun local --help-all lists them"}},
		{"a certificate for no store", []string{"run", "--store-ca", "/ca"}, nil, []string{"--store-ca goes with --store or --endpoint"}},
		{"a token for no store", []string{"launch", "--store-token-file", "/t", "--no-python"}, nil, []string{"--store-token-file goes with"}},
		{"a store that torchrun's flag rules out", []string{"launch", "--standalone", "--store", "http://127.0.0.1:1", "--no-python"}, nil, []string{"--store does not go with --standalone"}},
		{"no place for files that were asked for", []string{"launch", "--nproc-per-node", "2", "-r", "3", "--no-python"}, []string{"TMPDIR=/no/such"},
			[]string{"-r: no directory for the files", "/no/such", "give --log-dir, or set TMPDIR"}},
		{"the same, by a variable", []string{"launch", "--no-python"}, []string{"TMPDIR=/no/such", "PET_REDIRECTS=0:1"}, []string{"PET_REDIRECTS: no directory for the files"}},
		{"half a hook", []string{"local", "--hook-timeout", "3s"}, nil, []string{"--hook-timeout goes with --on-exit or --on-job-end"}},
		{"a rank above the one node's", []string{"run", "--node-rank", "1"}, nil, []string{"--node-rank 1", "number of nodes, 1"}},
		{"a help flag", []string{"run", "--help-al"}, nil, []string{"--help-all?"}},
		{"an unknown command", []string{"rum"}, nil, []string{"rum", "run?"}},
		{"an unknown flag of all", []string{"--verbose", "run"}, nil, []string{"--verbose"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			canary := filepath.Join(t.TempDir(), "canary")
			argv := append(append([]string{harness.Binary(t)}, tt.argv...), "--", "touch", canary)
			refused(t, harness.Run(t, limit, tt.env, argv...), tt.says...)
			if _, err := os.Stat(canary); err == nil {
				t.Error("something was started")
			}
		})
	}
}

// refused fails the test unless gangrun exited with 64 and one line that contains all of says.
func refused(t *testing.T, res harness.Result, says ...string) {
	t.Helper()
	if res.Code != exitcodes.CodeBadConfig {
		t.Errorf("exit code %d", res.Code)
	}
	if !strings.HasPrefix(res.Stderr, "gangrun: ") || strings.Count(res.Stderr, "\n") != 1 || res.Stdout != "" {
		t.Errorf("not one line on standard error:\n%q\n%q", res.Stderr, res.Stdout)
	}
	for _, s := range says {
		if !strings.Contains(res.Stderr, s) {
			t.Errorf("%q does not say %q", res.Stderr, s)
		}
	}
}

// TestMistakesElsewhere are those about a command that is missing, and those of the other commands.
func TestMistakesElsewhere(t *testing.T) {
	tests := []struct {
		argv []string
		says string
	}{
		{[]string{"run"}, "COMMAND"},
		{[]string{"run", "--"}, "COMMAND"},
		{[]string{"run", "--quiet"}, "COMMAND"},
		{[]string{"explain", "no-such-thing"}, "no-such-thing"},
		{[]string{"explain", "code.imprt"}, "code.import?"},
		{[]string{"explain", "/dev/null"}, "/dev/null: no termination message in the text; to judge the output of a worker: gangrun explain --log /dev/null"},
		{[]string{"explain", "-5"}, "unknown flag -5"},
		{[]string{"help", "run", "x"}, `"x" is not a command`},
		{[]string{"version", "--json"}, "unknown flag --json"},
		{[]string{"checkpoint", "ls", "--checkpoint-dir", "/c"}, "the directory is an argument: gangrun checkpoint ls DIR"},
		{[]string{"checkpoint", "select", "--checkpoint-pattern=*.pt", "/c"}, "here it is --pattern"},
		{[]string{"launch", "--bogus", "x.py"}, "gangrun launch --help-all lists them"},
		{[]string{"checkpoint", "ls", "--bogus", "x"}, "gangrun help checkpoint ls lists them"},
		{[]string{"install", "/dev/null"}, "install: /dev/null is not a directory"},
		{[]string{"explain", ""}, "the argument is empty: if it was to be a pod's termination message, the pod has none (yet)"},
		{[]string{"explain", "\n"}, "the argument is empty"},
		{[]string{"explain", "--log", "/dev/null"}, "--log /dev/null: the log is empty"},
		{[]string{"explain", "--log", "-", "-o", "json"}, "--log -: the log is empty"},
		{[]string{"explain", "no-such-file"}, "no such file"},
		{[]string{"explain", "rules", "--rules", "/no/such/rules"}, "--rules: open /no/such/rules"},
		{[]string{"report", "/dev/null", "--html"}, "--html: a value is missing"},
		{[]string{"status", "a", "--store", "http://127.0.0.1:1", "--endpoint", "b"}, "--store and --endpoint"},
		{[]string{"status", "a", "--store", "http://127.0.0.1:1", "--store-token-file", "/t"}, "--store-token-file is for a store within gangrun"},
		{[]string{"suspend", "a", "--endpoint", "b", "--store-user-file", "/t"}, "a store within gangrun has --store-token-file"},
		{[]string{"status", "h"}, "--store"}, // a job of that name
		{[]string{"unban", "help"}, "--store"},
		{[]string{"local", "-n"}, "-n: a value is missing"},
		{[]string{"explain", "256"}, "256"},
		{[]string{"explain", "{"}, "message"},
		{[]string{"explain", "1", "2"}, `"2"`},
		{[]string{"explain", "--output", "xml", "1"}, "json"},
		{[]string{"explain", "--lgo", "x"}, "log?"},
		{[]string{"explain", "--rules", "x"}, "explain rules"},
		{[]string{"explain", "--rules"}, "explain rules"},
		{[]string{"explain", "--rules-file", "x"}, "--rules FILE"},
		{[]string{"explain", "--log", "/dev/null", "137"}, "--code 137"},
		{[]string{"explain", "rules", "--log", "/dev/null"}, "one at a time"},
		{[]string{"explain", "--code", "3"}, "--log"},
		{[]string{"explain", "NoProgres"}, "NoProgress?"},
		{[]string{"doctor", "--grace", "banana"}, "--grace banana"},
		{[]string{"doctor", "x", "-o", "json"}, `"x"`},
		{[]string{"completion"}, "bash, zsh or fish"},
		{[]string{"completion", "bash", "zsh"}, `"zsh"`},
		{[]string{"version", "x"}, `"x"`},
		{[]string{"help", "no-such-command"}, "no-such-command"},
		{[]string{"status", "a", "b", "--store", "http://127.0.0.1:1"}, `"b"`},
		{[]string{"--max-restarts", "3", "run", "true"}, "gangrun run --max-restarts"},
		{[]string{"run", "--tty-rank", "0", "--", "true"}, "gangrun local"},
		{[]string{"true"}, "gangrun run -- true"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.argv, " "), func(t *testing.T) {
			t.Parallel()
			refused(t, harness.Run(t, limit, nil, append([]string{harness.Binary(t)}, tt.argv...)...), tt.says)
		})
	}
}

// TestNotThere: what a command is to look at, and that is not there, is 66, whichever command it is.
func TestNotThere(t *testing.T) {
	for _, argv := range [][]string{
		{"explain", "--log", "/no/such"}, {"explain", "--log", "/no/such", "-o", "json"}, {"explain", "/no/such"}, {"install", "/no/such"},
		{"install-torchrun", "/no/such"}, {"report", "/no/such"}, {"checkpoint", "ls", "/no/such"}, {"checkpoint", "verify", "/no/such"},
		{"checkpoint", "select", "/no/such"},
	} {
		res := harness.Run(t, limit, nil, append([]string{harness.Binary(t)}, argv...)...)
		if res.Code != 66 || !strings.Contains(res.Stderr, "/no/such: no such ") || strings.Count(res.Stderr, "\n") != 1 || res.Stdout != "" {
			t.Errorf("%v: exit code %d: %q %q", argv, res.Code, res.Stderr, res.Stdout)
		}
	}
}

// TestNothingIsPassedOverInSilence: what was set and does nothing here is in one line of the log, and the job runs.
func TestNothingIsPassedOverInSilence(t *testing.T) {
	run, launch, local := []string{"run", "--"}, []string{"launch", "--no-python"}, []string{"local", "--only-ranks", "0", "--"}
	config := func(text string) string { return "GANGRUN_CONFIG=" + write(t, "c.yaml", text) }
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120)) // longer than the address of a socket can be
	if err := os.Mkdir(long, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		argv []string
		env  string
		says string // empty: nothing
	}{
		{run, "X=1", ""},
		{launch, "PET_NNODES=1", ""},
		{run, "PET_NNODES=1", ""},
		{run, "PET_NNODES=x", "PET_NNODES=x has no effect"},
		{run, "PET_NNODES=2", "PET_NNODES=2 has no effect"},
		{run, "gangrun_max_restarts=3", "did you mean GANGRUN_MAX_RESTARTS?"},
		{launch, "gangrun_max_restarts=3", "did you mean GANGRUN_MAX_RESTARTS?"},
		{launch, "PET_MAX_RESTART=3", "did you mean PET_MAX_RESTARTS?"},
		{run, "PET_MAX_RESTART=3", ""},
		{run, "GANGRUN_MAX_RETRIES=3", "did you mean GANGRUN_MAX_RESTARTS?"},
		{run, "GANGRUN_FOO=1", ""},
		{run, "GANGRUN_STORE_CA=/ca", "without effect: GANGRUN_STORE_CA (goes with --store"},
		{[]string{"launch", "--max-restarts", "3", "--no-python"}, "GANGRUN_NO_RESTART=1", "without effect: GANGRUN_NO_RESTART (with --max-restarts)"},
		{[]string{"launch", "--no-restart", "--max-restarts", "3", "--no-python"}, "X=1", "without effect: --max-restarts (with --no-restart)"},
		{[]string{"launch", "--no-restart", "--no-python"}, "PET_MAX_RESTARTS=3", "without effect: PET_MAX_RESTARTS (with --no-restart)"},
		{[]string{"launch", "--no-restart", "--no-python"}, "GANGRUN_MAX_RESTARTS=3", "without effect: GANGRUN_MAX_RESTARTS (with --no-restart)"},
		{[]string{"run", "--log-level", "info", "--"}, "GANGRUN_QUIET=1", "without effect: GANGRUN_QUIET (with --log-level)"},
		{run, "GANGRUN_PREFLIGHT_TIMEOUT=3s", "without effect: GANGRUN_PREFLIGHT_TIMEOUT (goes with --preflight"},
		{run, "GANGRUN_NNODES=2", "without effect: GANGRUN_NNODES (a setting of gangrun launch)"},
		{launch, "GANGRUN_NODES=2", "without effect: GANGRUN_NODES (a setting of gangrun run)"},
		{local, "GANGRUN_NODES=2", "without effect: GANGRUN_NODES (a setting of gangrun run)"},
		{local, "GANGRUN_NNODES=2", "without effect: GANGRUN_NNODES (a setting of gangrun launch)"},
		{local, "GANGRUN_STORE_PORT=tcp://10.0.0.1:2379", ""},
		{local, config("nodes: 4\n"), "c.yaml:1 (a setting of gangrun run)"},
		{run, "TMPDIR=/no/such", "set TMPDIR to a directory that can be written to"},
		{launch, "TMPDIR=/no/such", "set TMPDIR to a directory that can be written to"},
		{[]string{"local", "--"}, "TMPDIR=/no/such", "set TMPDIR to a directory that can be written to"},
		{run, "TMPDIR=" + long, "workers cannot report their steps"},
		{launch, "PET_MONITOR_INTERVAL=5", "without effect: PET_MONITOR_INTERVAL"},
		{[]string{"launch", "--hang", "act", "--no-python"}, "X=1", "if the workers hang, the job exits with 212"},
		{[]string{"launch", "--hang-timeout", "2s", "--no-python"}, "X=1", ""},
		{[]string{"launch", "--rdzv-conf", "timeout=3,last_call_timeout=3", "--no-python"}, "X=1", "without effect: --rdzv-conf timeout ("},
		{[]string{"run", "--fence-timeout", "1m", "--"}, "X=1", "without effect: --fence-timeout (one node"},
		{[]string{"launch", "--standalone", "--job", "j", "--no-python"}, "GANGRUN_STORE=http://127.0.0.1:1", "GANGRUN_STORE (does not go with --standalone"},
	} {
		res := harness.Run(t, limit, []string{tt.env}, append(append([]string{harness.Binary(t)}, tt.argv...), "true")...)
		said := slices.DeleteFunc(strings.Split(strings.TrimSpace(res.Stderr), "\n"), func(line string) bool {
			return !strings.Contains(line, "level=") // nor local's table
		})
		want := 1
		if tt.says == "" {
			want = 0
		}
		if res.Code != 0 || len(said) != want || !strings.Contains(strings.Join(said, ""), tt.says) {
			t.Errorf("%s %v: exit code %d: %q", tt.env, tt.argv, res.Code, said)
		}
	}
}

// TestStoreOfOneNode: launch goes to the store that it is given with one node, too, as run does.
func TestStoreOfOneNode(t *testing.T) {
	for _, argv := range [][]string{{"run"}, {"launch", "--no-python"}} {
		argv = append([]string{harness.Binary(t), argv[0], "--store", "http://127.0.0.1:1", "--job", "j", "--store-timeout", "500ms"}, argv[1:]...)
		res := harness.Run(t, limit, nil, append(argv, "true")...)
		if res.Code != exitcodes.CodeStoreLost || !strings.Contains(res.Stderr, "the store did not answer for 500ms") || strings.Contains(res.Stderr, "nil") {
			t.Errorf("%v: exit code %d: %s", argv, res.Code, res.Stderr)
		}
	}
}

// TestMistakeInMessage finds the mistake in the termination message too, wherever its path came from: in a cluster
// that is where people look first.
func TestMistakeInMessage(t *testing.T) {
	tests := map[string]func(log string) (flags, env []string){
		"flag before": func(log string) ([]string, []string) {
			return []string{"--termination-log", log, "--grace", "banana"}, nil
		},
		"flag after": func(log string) ([]string, []string) {
			return []string{"--grace", "banana", "--termination-log", log}, nil
		},
		"variable": func(log string) ([]string, []string) {
			return []string{"--grace", "banana"}, []string{"GANGRUN_TERMINATION_LOG=" + log}
		},
		"an unknown flag": func(log string) ([]string, []string) { return []string{"--termination-log=" + log, "--graze=1s"}, nil },
		"file": func(log string) ([]string, []string) {
			return []string{"--config", write(t, "c.yaml", "termination-log: "+log+"\n"), "--grace", "banana"}, nil
		},
		"grace and no grace": func(log string) ([]string, []string) {
			return []string{"--termination-log", log, "--grace", "2s", "--pod-grace", "1s"}, nil
		},
	}
	for name, where := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := write(t, "log", "")
			flags, env := where(log)
			argv := append(append([]string{harness.Binary(t), "run"}, flags...), "--", "true")
			res := harness.Run(t, limit, env, argv...)
			refused(t, res)
			wellFormed(t, []byte(read(t, log)), exitcodes.DefaultMessage)
			m := harness.Message(t, log)
			if m.Verdict != exitcodes.Fatal || m.Reason != "BadConfig" || m.ExitCode != 64 || "gangrun: "+m.Message+"\n" != res.Stderr {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestStoreIsGone: the store within a gangrun is gone with it, as after a suspension. Scripts tell that by its code.
func TestStoreIsGone(t *testing.T) {
	res := harness.Run(t, limit, nil, harness.Binary(t), "resume", "--endpoint", "127.0.0.1:1")
	if res.Code != 69 || !strings.Contains(res.Stderr, "connection refused; a store within gangrun is there only while its node runs\n") ||
		strings.Count(res.Stderr, "\n") != 1 || strings.Count(res.Stderr, "http://127.0.0.1:1") != 1 {
		t.Errorf("exit code %d: %s", res.Code, res.Stderr)
	}
}
