package command

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/exitcodes"
)

func TestFlagsMayFollowArguments(t *testing.T) {
	commands := []*cli.Command{explainCommand(), checkpointCommand(&program{}), statusCommand(&program{}), runCommand(&program{})}
	for in, want := range map[string]string{
		"explain 137 -o json":                   "explain -o json -- 137",
		"explain 137 --help":                    "explain --help",
		"status job --store http://e:1 --watch": "status --store http://e:1 --watch -- job",
		"status job --store=http://e:1":         "status --store=http://e:1 -- job",
		"status --watch job":                    "status --watch -- job",
		"status -- --odd":                       "status -- --odd",
		"explain --log - --code 3":              "explain --log - --code 3",
		"checkpoint ls dir -o json":             "checkpoint ls -o json -- dir",
		"checkpoint --help":                     "checkpoint --help",
		"run sh --grace 3s":                     "run sh --grace 3s",
		"help run":                              "run --help",
		"help":                                  "--help",
		"help checkpoint ls":                    "checkpoint ls --help",
		"version":                               "--version",
		"--quiet run true":                      "--quiet run true",
		"explain --log":                         "explain --log",
		"run --max-restarts 3 --help x":         "run --help",
		"run -h x":                              "run --help",
		"run --job --help x":                    "run --job --help x",
		"run x --help":                          "run x --help",
		"run -- --help":                         "run -- --help",
		"help run x":                            "help -- run x",
		"help checkpoint x":                     "help -- checkpoint x",
		"help --help run":                       "run --help",
		"help nothing":                          "nothing --help",
	} {
		got := rearranged(append([]string{"gangrun"}, strings.Fields(in)...), commands)
		if text := strings.Join(got[1:], " "); text != want {
			t.Errorf("%s: %s, want %s", in, text, want)
		}
	}
}

// TestNothingIsPassedOver are settings that contradict each other or would do nothing.
func TestNothingIsPassedOver(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags map[string][]string
		env   map[string]string
		file  string
		want  string
	}{
		{"no restart and some", map[string][]string{"no-restart": {"true"}, "max-restarts": {"3"}}, nil, "", "--no-restart and --max-restarts contradict"},
		{"quiet and loud", map[string][]string{"quiet": {"true"}, "log-level": {"debug"}}, nil, "", "--quiet and --log-level"},
		{"quiet in a form", map[string][]string{"quiet": {"true"}, "log-format": {"json"}}, nil, "", "--quiet and --log-format"},
		{"no hangs, and when they are some", map[string][]string{"hang": {"off"}, "hang-timeout": {"3s"}}, nil, "", "--hang off and --hang-timeout"},
		{"hangs that the image has off", map[string][]string{"hang-timeout": {"3s"}}, map[string]string{"GANGRUN_HANG": "off"}, "", ""},
		{"hooks that are none", map[string][]string{"hook-failure": {"ignore"}}, nil, "", "--hook-failure goes with --on-exit or --on-job-end"},
		{"a state of one's own that is required", map[string][]string{"checkpoint-dir": {"/x"}, "resume": {"own"}, "checkpoint-require": {"always"}}, nil, "",
			"--resume own and --checkpoint-require"},
		{"a signal twice", map[string][]string{"signal-map": {"TERM:USR1,TERM:USR2"}}, nil, "", "SIGTERM is mapped to two signals"},
		{"checkpoints that are nowhere", map[string][]string{"checkpoint-max-age": {"1h"}}, nil, "", "--checkpoint-max-age goes with --checkpoint-dir"},
		{"a list", nil, nil, "max-restarts: [3, 4]\n", "c.yaml:1: max-restarts: want one value, not a list"},
		{"a second document", nil, nil, "quiet: true\n---\nquiet: false\n", "c.yaml:2: a second document"},
		{"a broken TF_CONFIG", nil, map[string]string{"TF_CONFIG": "{bad"}, "", "variable TF_CONFIG: invalid character"},
		{"a TF_CONFIG of another shape", nil, map[string]string{"TF_CONFIG": `{"cluster":[]}`}, "", "variable TF_CONFIG: "},
		{"a TF_CONFIG that is a list", nil, map[string]string{"TF_CONFIG": `[]`}, "", "TF_CONFIG: a JSON array; want {"},
		{"a task that is not in its cluster", nil, map[string]string{"TF_CONFIG": `{"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":2}}`},
			"", "task.index 2: the cluster has 2 of type worker"},
		{"an evaluator, which no cluster lists", nil, map[string]string{"TF_CONFIG": `{"cluster":{"worker":["a:1"]},"task":{"type":"evaluator","index":3}}`}, "", ""},
		{"a task without an index", nil, map[string]string{"TF_CONFIG": `{"cluster":{"worker":["a:1"]},"task":{"type":"worker"}}`}, "", ""},
		{"a flag taken for a value", map[string][]string{"job": {"--max-restarts"}}, nil, "", "--job: a value is missing before --max-restarts"},
		{"a flag and its value taken for one", map[string][]string{"job": {"--grace=3s"}}, nil, "", "--job: a value is missing before --grace=3s"},
		{"the command's dashes taken for a value", map[string][]string{"log-dir": {"--"}}, nil, "", "--log-dir: a value is missing before --"},
		{"a prefix of dashes", map[string][]string{"log-prefix": {"--> "}}, nil, "", ""},
		{"a level", map[string][]string{"log-level": {"verbose"}}, nil, "", "want one of debug, info, warn, error"},
		{"not said twice on one line", map[string][]string{"no-restart": {"true"}}, nil, "", ""},
		{"the image says more than needed", nil, map[string]string{"GANGRUN_CHECKPOINT_MAX_AGE": "1h", "GANGRUN_NO_RESTART": "1"}, "", ""},
		{"lists where they belong", nil, nil, "signal-map: [15:10, 2:0]\non-exit: [a, b]\n", ""},
		{"an end that is marked", nil, nil, "quiet: true\n...\n", ""},
		{"a service's link", nil, map[string]string{"GANGRUN_STORE_PORT": "tcp://10.0.0.1:2379"}, "", ""},
		{"no TF_CONFIG", nil, map[string]string{"TF_CONFIG": ""}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := defaultOptions()
			settings := o.runSettings()
			if tt.file != "" {
				path := t.TempDir() + "/c.yaml"
				if err := os.WriteFile(path, []byte(tt.file), 0o644); err != nil {
					t.Fatal(err)
				}
				tt.flags = mergeFlags(tt.flags, "config", path)
			}
			for _, s := range settings {
				s.given = tt.flags[s.name]
			}
			lookup := func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }
			err := resolve(settings, lookup)
			if err == nil {
				err = o.contradictions(settings, lookup)
			}
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestMisspeltVariablesAreNamed(t *testing.T) {
	for entry, want := range map[string]string{
		"GANGRUN_MAX_RESTART=3":                     "GANGRUN_MAX_RESTART is not known and does nothing; did you mean GANGRUN_MAX_RESTARTS?",
		"GANGRUN_GRAEC=3s":                          "GANGRUN_GRAEC is not known and does nothing; did you mean GANGRUN_GRACE?",
		"gangrun_max_restarts=3":                    "gangrun_max_restarts is not known and does nothing; did you mean GANGRUN_MAX_RESTARTS?",
		"Gangrun_Max_Restart=3":                     "Gangrun_Max_Restart is not known and does nothing; did you mean GANGRUN_MAX_RESTARTS?",
		"GANG_RUN_GRACE=3s":                         "GANG_RUN_GRACE is not known and does nothing; did you mean GANGRUN_GRACE?",
		"GANRUN_GRACE=3s":                           "GANRUN_GRACE is not known and does nothing; did you mean GANGRUN_GRACE?",
		"gangrun_mine=3":                            "",
		"gangrun=/opt/gangrun":                      "",
		"GANG_NAME=3":                               "",
		"GANGWAY_STORE=3":                           "",
		"GANGRUN_MAX_RESTARTS=3":                    "",
		"GANGRUN_TTY_RANK=3":                        "", // local's
		"GANGRUN_MINE=3":                            "",
		"GANGRUN_FOO=3":                             "", // job is as short, and another word
		"GANGRUN_JBO=3":                             "GANGRUN_JBO is not known and does nothing; did you mean GANGRUN_JOB?",
		"GANGRUN_ROUND=1":                           "", // within gangrun
		"GANGRUN_NODE_NAME=a":                       "",
		"GANGRUN_STORE_PORT=tcp://10.0.0.1:2379":    "",
		"GANGRUN_STOR_PORT=tcp://10.0.0.1:2379":     "",
		"GANGRUN_SERVICE_HOST=10.0.0.1":             "",
		"GANGRUN_NODE_SERVICE_PORT=1":               "",
		"GANGRUN_STORE_PORT_2379_TCP_ADDR=10.0.0.1": "",
		"MAX_RESTART=3":                             "",
		"PET_MAX_RESTART=3":                         "PET_MAX_RESTART is not known and does nothing; did you mean PET_MAX_RESTARTS?",
		"PET_NPROC_PERNODE=2":                       "PET_NPROC_PERNODE is not known and does nothing; did you mean PET_NPROC_PER_NODE?",
		"PET_NNODES=2":                              "",
		"PET_FOOD=2":                                "",
		"PET_PORT=tcp://10.0.0.1:2379":              "", // of a service of that name
	} {
		if got := strings.Join(lookThrough([]string{"PATH=/bin", entry}, true).near, " "); got != want {
			t.Errorf("%s: %q, want %q", entry, got, want)
		}
		if got := lookThrough([]string{entry}, false); strings.HasPrefix(entry, "PET_") && len(got.near) > 0 {
			t.Errorf("%s without launch: %q", entry, got)
		}
	}
}

// TestFurtherVariables are those that are far from any flag: it is said what they may have been meant to be, or they are named.
func TestFurtherVariables(t *testing.T) {
	got := lookThrough([]string{
		"GANGRUN_MAX_RETRIES=3", "GANGRUN_MINE=3", "gangrun_mine=3", "GANGRUN_SERVICE_HOST=10.0.0.1", "GANGRUN_PORT=tcp://10.0.0.1:80",
		"GANGRUN_PORT_80_TCP_PROTO=tcp", "GANGRUN_SERVICE_PORT_HTTP=80", "GANGRUN_ROUND=1", "GANGRUN_GRACE=1s",
	}, true)
	want := unknownVariables{
		guessed: []string{"GANGRUN_MAX_RETRIES is not known and does nothing; did you mean GANGRUN_MAX_RESTARTS?"}, rest: []string{"GANGRUN_MINE"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestWorkersOwnVariablesAreKnown holds the list of what workers get against what is near to a flag: none of these may be warned of.
func TestWorkersOwnVariablesAreKnown(t *testing.T) {
	for _, name := range workersOwn {
		if got := lookThrough([]string{variablePrefix + name + "=1"}, true); !reflect.DeepEqual(got, unknownVariables{}) {
			t.Errorf("%+v", got)
		}
	}
}

func TestGangrunsOwnLinesAreNoFailure(t *testing.T) {
	const trace = "Traceback (most recent call last):\nConnectionError: x\n"
	for _, tt := range []struct {
		name, log, text string
		status          exitcodes.Status
		known           bool
	}{
		{"none", trace, trace, exitcodes.Status{}, false},
		{"launch", trace + `time=2026-11-22T23:46:59.511Z level=ERROR msg="rank 0 exited 3: ConnectionError: x" verdict=retry reason=PeerLost` + "\n" +
			`time=2026-11-22T23:46:59.511Z level=ERROR msg="failed (exitcode: 3) local_rank: 0 (pid: 2) of binary: python"` + "\n" +
			"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\nexitcode : 3\n", trace, exitcodes.Status{Code: 3}, true},
		{"restarted", "old\ntime=x level=ERROR msg=\"rank 0 exited 3\" verdict=retry\ntime=x level=INFO msg=restarting round=1\n" + trace +
			"time=x level=ERROR msg=\"rank 0 was killed by SIGSEGV: x\" verdict=retry\n", trace, exitcodes.Status{Signal: 11}, true},
		{"JSON", trace + `{"time":"2026-11-22T23:46:59Z","level":"ERROR","msg":"the worker exited 9: x","verdict":"fatal"}` + "\n", trace,
			exitcodes.Status{Code: 9}, true},
		{"a launcher's report stays", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \nx\n" +
			`time=x level=ERROR msg="rank 1 was killed by SIGKILL (the launcher exited 1)" verdict=retry` + "\n",
			"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \nx\n", exitcodes.Status{Code: 1}, true},
		{"a worker's JSON", `{"time":"now"}` + "\n", `{"time":"now"}` + "\n", exitcodes.Status{}, false},
	} {
		got := withoutOwn([]byte(tt.log))
		if string(got.text) != tt.text || got.status != tt.status || got.known != tt.known {
			t.Errorf("%s: %q %+v %v", tt.name, got.text, got.status, got.known)
		}
	}
}

func FuzzOwnLines(f *testing.F) {
	f.Add([]byte("time=x level=ERROR msg=\"rank 0 exited 3\" verdict=retry\nx\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		if p := withoutOwn(log); len(p.text) > len(log) || p.known && !p.own {
			t.Errorf("%+v", p)
		}
	})
}

// TestEveryReasonIsExplained goes through what gangrun itself can put after reason=, and what rules can.
func TestEveryReasonIsExplained(t *testing.T) {
	for _, m := range exitcodes.Codes() {
		if r, found := reasonOf(m.Reason); !found || r.Text == "" {
			t.Errorf("%s is not explained", m.Reason)
		}
	}
	for _, name := range reasonNames() {
		r, found := reasonOf(name)
		if !found || r.Text == "" || r.Do == "" && name != exitcodes.ReasonSucceeded {
			t.Errorf("%s: %+v: want what it means and what a person can do", name, r)
		}
		if again, found := reasonOf(strings.ToLower(name)); !found || again.Name != name {
			t.Errorf("%s in small letters is %+v", name, again)
		}
	}
	for n := 1; n <= lastSignal; n++ {
		name := exitcodes.SignalReason(n)
		if r, found := reasonOf(strings.ToLower(name)); !found || r.Name != name || r.Text == "" || r.Do == "" || strings.Contains(r.Do, "gangrun explain") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for name := range signalAdvice {
		if n, err := exitcodes.ParseSignal(name); err != nil || exitcodes.SignalName(n) != name {
			t.Errorf("%s is no signal's name", name)
		}
	}
	// What families give stands in the source alone.
	given, named := map[string]bool{}, map[string]bool{}
	sources, err := filepath.Glob("../../../exitcodes/*.go")
	if err != nil || len(sources) < 50 {
		t.Fatal(sources, err)
	}
	for _, path := range sources {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\b(?:transient|deterministic)\("([a-z]+)", (?:"(\w+)")?`).FindAllSubmatch(source, -1) {
			named["family."+string(m[1])], given[string(m[2])] = true, true
		}
		for _, m := range regexp.MustCompile(`"(family\.[a-z]+)"`).FindAllSubmatch(source, -1) {
			named[string(m[1])] = true
		}
	}
	delete(given, "") // a constant: gangrun's own
	for name := range given {
		if _, found := adviceOn(name); !found {
			t.Errorf("%s is not explained", name)
		}
	}
	for name := range ruleAdvice {
		if r, _ := reasonOf(name); len(r.Rules) == 0 && !given[name] {
			t.Errorf("nothing gives %s", name)
		}
	}
	if len(named) != len(families) || len(named) < 5 {
		t.Errorf("families: %v, explained are %v", named, families)
	}
	for name := range named {
		if families[name] == "" {
			t.Errorf("%s is not explained", name)
		}
	}
	if _, found := reasonOf("NoSuchReason"); found || !slices.Contains(reasonNames(), "OOMKilled") {
		t.Error("the list of reasons")
	}
}
