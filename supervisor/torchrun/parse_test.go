package torchrun

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func nothing(string) (string, bool) { return "", false }

func ownFlags(name string) (takesValue, known bool) {
	switch name {
	case "grace", "nnodes", "nproc", "log-dir":
		return true, true
	case "quiet":
		return false, true
	}
	return false, false
}

// mustParse parses a command line of words without spaces.
func mustParse(t *testing.T, line string, env map[string]string) Options {
	t.Helper()
	o, err := Parse(strings.Fields(line), environment(env), ownFlags)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return o
}

func TestParseDefaults(t *testing.T) {
	o := mustParse(t, "train.py", nil)
	want := Options{
		MinNodes: 1, MaxNodes: 1, NProc: "1", Backend: "static", RunID: "none", Standalone: true,
		MonitorInterval: 100 * time.Millisecond, StartMethod: "spawn", EventLogHandler: "null", Role: "default",
		LinePrefixTemplate: "[${role_name}${local_rank}]:", MasterAddr: "127.0.0.1", MasterPort: 29500,
		Signals: []string{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"}, ShutdownTimeout: 30 * time.Second,
		Script: "train.py", Args: []string{}, Given: map[string]string{},
	}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("%+v\nwant %+v", o, want)
	}
	if err := o.Check(); err != nil {
		t.Error(err)
	}
}

func TestParseTellsWhatWasGiven(t *testing.T) {
	o := mustParse(t, "--nproc_per_node 2 -r3 --max-res=4 train.py",
		map[string]string{"PET_NNODES": "2:3", "PET_MAX_RESTARTS": "9", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "7"})
	want := map[string]string{
		"nproc-per-node": "--nproc_per_node", "redirects": "-r", "max-restarts": "--max-restarts",
		"nnodes": "PET_NNODES", "shutdown-timeout": "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
	}
	if !reflect.DeepEqual(o.Given, want) {
		t.Errorf("given: %v", o.Given)
	}
	if o.MinNodes != 2 || o.MaxNodes != 3 || o.MaxRestarts != 4 || o.ShutdownTimeout != 7*time.Second {
		t.Errorf("%+v", o)
	}
}

// TestSizes are not torchrun's: the numbers of nodes that there may be.
func TestSizes(t *testing.T) {
	if o := mustParse(t, "--nnodes 8,2,4 train.py", nil); !slices.Equal(o.Sizes, []int{2, 4, 8}) || o.MinNodes != 2 || o.MaxNodes != 8 {
		t.Errorf("%+v", o)
	}
}

func TestOwnFlags(t *testing.T) {
	o := mustParse(t, "--grace 5s --quiet --nnodes 2 --grace=-1s --quiet=false --nproc 3 --log-dir d --nproc_p 4 "+
		"train.py --grace x", nil)
	want := []OwnFlag{{"grace", "5s"}, {"quiet", "true"}, {"grace", "-1s"}, {"quiet", "false"}, {"nproc", "3"}}
	if !reflect.DeepEqual(o.Own, want) {
		t.Errorf("own: %v", o.Own)
	}
	// An exact name of torchrun's wins over an own one, an exact own one over the beginning of torchrun's.
	if o.MaxNodes != 2 || o.LogDir != "d" || o.NProc != "4" || !slices.Equal(o.Args, []string{"--grace", "x"}) {
		t.Errorf("%+v", o)
	}
	for _, line := range []string{"--grace", "--grace --quiet train.py", "--gra 5s train.py", "--grace -- train.py"} {
		if _, err := Parse(strings.Fields(line), nothing, ownFlags); err == nil {
			t.Errorf("%s was taken", line)
		}
	}
}

func TestBeginningsOfFlags(t *testing.T) {
	// argparse finds --nproc ambiguous, for the two spellings of one flag.
	o, err := Parse([]string{"--nproc", "3", "--rdzv-ba=c10d", "train.py", "--n", "1"}, nothing, nil)
	if err != nil || o.NProc != "3" || o.Backend != "c10d" {
		t.Errorf("%+v, %v", o, err)
	}
	_, err = Parse([]string{"--rdzv", "x", "train.py"}, nothing, nil)
	var wrong *FlagError
	if !errors.As(err, &wrong) || wrong.Source != "--rdzv" ||
		!strings.Contains(err.Error(), "--rdzv-backend, --rdzv-endpoint") {
		t.Errorf("%v", err)
	}
}

func TestInsertAt(t *testing.T) {
	for _, tt := range []struct {
		line             string
		insert, scriptAt int
	}{
		{"train.py", 0, 0},
		{"--nnodes 2 train.py --x", 2, 2},
		{"--standalone -- train.py -- x", 1, 2},
	} {
		o := mustParse(t, tt.line, nil)
		if o.InsertAt != tt.insert || o.ScriptIndex != tt.scriptAt {
			t.Errorf("%s: %d and %d", tt.line, o.InsertAt, o.ScriptIndex)
		}
		args := slices.Insert(strings.Fields(tt.line), o.InsertAt, "--max-restarts", "0")
		again, err := Parse(args, nothing, nil)
		if err != nil || again.Script != o.Script || !slices.Equal(again.Args, o.Args) || again.Given["max-restarts"] == "" {
			t.Errorf("%q: %+v, %v", args, again, err)
		}
	}
}

func TestHelpAndCompletion(t *testing.T) {
	for _, line := range []string{"--help", "--no-such --nnodes x -h", "-mh", "--grace 5s --help x"} {
		if o := mustParse(t, line, map[string]string{"PET_MAX_RESTARTS": "x"}); !o.Help {
			t.Errorf("%s: no help", line)
		}
	}
	if o := mustParse(t, "--print-completion zsh", nil); o.Completion != "zsh" {
		t.Errorf("%+v", o)
	}
}

func TestEndpoint(t *testing.T) {
	for _, tt := range []struct {
		line, host string
		port       int
		standalone bool
	}{
		{"train.py", "", 0, true},
		{"--standalone --rdzv-backend etcd --rdzv-endpoint nonsense:x --nnodes 2 train.py", "", 0, true},
		{"--master-port 29500 train.py", "127.0.0.1", 29500, false},
		{"--nnodes 2 train.py", "127.0.0.1", 29500, false},
		{"--nnodes 2 --master-addr node-1 --master-port 1 train.py", "node-1", 1, false},
		{"--nnodes 2 --master-addr [::1] train.py", "::1", 29500, false},
		{"--nnodes 2 --master-addr ::1 train.py", "::1", 29500, false},
		{"--rdzv-endpoint h:7 train.py", "h", 7, false},
		{"--rdzv-backend c10d train.py", "localhost", 29400, false},
		{"--rdzv-backend c10d --rdzv-endpoint node_1.x train.py", "node_1.x", 29400, false},
		{"--rdzv-backend c10d --rdzv-endpoint [fe80::1] train.py", "fe80::1", 29400, false},
		{"--rdzv-backend c10d --rdzv-endpoint [fe80::1]:0 train.py", "fe80::1", 0, false},
		{"--rdzv-backend etcd-v2 --rdzv-endpoint e train.py", "e", 2379, false},
		{"--rdzv-backend etcd --rdzv-endpoint e:65535 train.py", "e", 65535, false},
		{"--rdzv-backend c10d --rdzv-conf store_type=file --rdzv-endpoint /a/b train.py", "", 0, false},
	} {
		o := mustParse(t, tt.line, nil)
		if o.Host != tt.host || o.Port != tt.port || o.Standalone != tt.standalone {
			t.Errorf("%s: %s %d %v", tt.line, o.Host, o.Port, o.Standalone)
		}
	}
}

func TestRefusedValues(t *testing.T) {
	for _, tt := range []struct {
		line   string
		env    map[string]string
		source string
	}{
		{"--nnodes 1:2:3 x", nil, "--nnodes"},
		{"--nnodes 0 x", nil, "--nnodes"},
		{"--nnodes 3:2 x", nil, "--nnodes"},
		{"--nnodes two x", nil, "--nnodes"},
		{"--nnodes 2,2 x", nil, "--nnodes"},
		{"--nnodes 2,4, x", nil, "--nnodes"},
		{"--nnodes 0,4 x", nil, "--nnodes"},
		{"--nnodes 2,4 --max-restarts -1 x", nil, "--max-restarts"},
		{"x", map[string]string{"PET_NNODES": ""}, "PET_NNODES"},
		{"--max-restarts -1 x", nil, "--max-restarts"},
		{"--node-rank -1 x", nil, "--node-rank"},
		{"--max_restarts 99999999999999999999 x", nil, "--max_restarts"},
		{"--monitor-interval 0 x", nil, "--monitor-interval"},
		{"--monitor-interval nan x", nil, "--monitor-interval"},
		{"--monitor-interval 1e300 x", nil, "--monitor-interval"},
		{"x", map[string]string{"PET_START_METHOD": "thread"}, "PET_START_METHOD"},
		{"x", map[string]string{"PET_MODULE": "yes"}, "PET_MODULE"},
		{"--rdzv-conf a x", nil, "--rdzv-conf"},
		{"--rdzv-conf a= x", nil, "--rdzv-conf"},
		{"--rdzv-conf =a x", nil, "--rdzv-conf"},
		{"--rdzv-conf a=1, x", nil, "--rdzv-conf"},
		{"--rdzv-backend c10d --rdzv-endpoint http://h:1 x", nil, "--rdzv-endpoint"},
		{"--rdzv-backend c10d --rdzv-endpoint h:65536 x", nil, "--rdzv-endpoint"},
		{"--rdzv-backend etcd --rdzv-endpoint a:1,b:2 x", nil, "--rdzv-endpoint"},
		{"--nnodes 2 --rdzv-endpoint h x", nil, "--rdzv-endpoint"},
		{"--nnodes 2 --master-addr a/b x", nil, "--master-addr"},
		{"--nnodes 2 --master-addr= x", nil, "--master-addr"},
		{"--master-port 65536 x", nil, "--master-port"},
		{"-r 4 x", nil, "-r"},
		{"--tee 0:1,1 x", nil, "--tee"},
		{"--tee 0:1, x", nil, "--tee"},
		{"--tee +1:1 x", nil, "--tee"},
		{"--tee= x", nil, "--tee"},
		{"--local-ranks-filter 0,a x", nil, "--local-ranks-filter"},
		{"--shutdown-timeout=-1 x", nil, "--shutdown-timeout"},
		{"x", map[string]string{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": ""}, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"},
		{"", nil, "training script"},
		{"--role", nil, "--role"},
	} {
		_, err := Parse(strings.Fields(tt.line), environment(tt.env), nil)
		var wrong *FlagError
		if !errors.As(err, &wrong) || wrong.Source != tt.source || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %v: %v, want an error of %s", tt.line, tt.env, err, tt.source)
		}
	}
	_, err := Parse([]string{"--nod-rank=1", "train.py"}, nothing, nil)
	var unknown *UnknownFlagError
	if !errors.As(err, &unknown) || unknown.Flag != "--nod-rank" {
		t.Errorf("unknown flag: %v", err)
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct{ line, source string }{
		{"train.py", ""},
		{"--nnodes 1:4 --standalone train.py", ""},
		{"--run-path -m --no-python train.py", ""},
		{"--nnodes 2 --node-rank 1 train.py", ""},
		{"--signals-to-handle SIGTERM,SIGUSR1 train.py", ""},
		{"--logs-specs x train.py", "--logs-specs"},
		{"--numa-binding node train.py", "--numa-binding"},
		{"--logs-specs default train.py", ""},
		{"--event-log-handler console train.py", ""},
		{"--event-log-handler mine train.py", "--event-log-handler"},
		{"--rdzv-backend zeus train.py", "--rdzv-backend"},
		{"--rdzv-backend c10d --rdzv-conf store_type=file --rdzv-endpoint /a train.py", "--rdzv-conf"},
		{"-m --no-python train.py", "-m"},
		{"--nnodes 2:4 --standalone train.py", "--standalone"},
		{"--nnodes 2 --node-rank 2 train.py", "--node-rank"},
		{"--signals-to-handle SIGTERM,SIGNAL train.py", "--signals-to-handle"},
		{"--signals-to-handle TERM train.py", "--signals-to-handle"},
		{"--signals-to-handle SIGterm train.py", "--signals-to-handle"},
		{"--signals-to-handle 15 train.py", "--signals-to-handle"},
		{"--signals-to-handle= train.py", "--signals-to-handle"},
		{"--signals-to-handle SIGKILL train.py", "--signals-to-handle"},
	} {
		err := mustParse(t, tt.line, nil).Check()
		var wrong *FlagError
		if tt.source == "" && err != nil || tt.source != "" && (!errors.As(err, &wrong) || wrong.Source != tt.source) {
			t.Errorf("%s: %v, want an error of %q", tt.line, err, tt.source)
		}
	}
}

func TestStreams(t *testing.T) {
	o := mustParse(t, "-r 0:1,11:3 --tee 2 --local-ranks-filter 0,11 train.py", nil)
	for rank, want := range map[int][2]Sink{
		0:  {{File: true}, {File: true, Console: true, Prefix: true}},
		1:  {{}, {File: true}},
		11: {{File: true}, {File: true, Console: true, Prefix: true}},
	} {
		stdout, stderr := o.Sinks(rank)
		if stdout != want[0] || stderr != want[1] {
			t.Errorf("rank %d: %+v %+v, want %+v", rank, stdout, stderr, want)
		}
	}
	o = mustParse(t, "-r 3 --local-ranks-filter 1 --log-dir /dev/null train.py", nil)
	if stdout, stderr := o.Sinks(0); stdout != (Sink{Console: true}) || stderr != stdout {
		t.Errorf("without logs: %+v %+v", stdout, stderr)
	}
	if stdout, _ := mustParse(t, "train.py", nil).Sinks(0); stdout != (Sink{Console: true}) {
		t.Errorf("by default: %+v", stdout)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-mr3\n--nnodes=1:2\n--grace\n5s\n--\ntrain.py", "PET_TEE", "0:1,1:3")
	f.Add("--rdzv-conf\na=1\n--rdzv-endpoint=[::1]:5\n--nnodes\n2\nx", "PET_MONITOR_INTERVAL", "1e3")
	f.Fuzz(func(t *testing.T, line, variable, value string) {
		args := strings.Split(line, "\n")
		o, err := Parse(args, environment(map[string]string{variable: value}), ownFlags)
		if err != nil {
			return
		}
		_ = o.Check()
		if o.Help || o.Completion != "" {
			return
		}
		if args[o.ScriptIndex] != o.Script || len(o.Args) > len(args) {
			t.Errorf("%q: script %q at %d", args, o.Script, o.ScriptIndex)
		}
		if o.MinNodes < 1 || o.MaxNodes < o.MinNodes || o.Port < 0 || o.Port > 65535 ||
			o.MonitorInterval <= 0 || o.ShutdownTimeout < 0 {
			t.Errorf("%q: %+v", args, o)
		}
		args = slices.Insert(slices.Clone(args), o.InsertAt, "--max-restarts=0")
		again, err := Parse(args, environment(map[string]string{variable: value}), ownFlags)
		if err != nil || again.Script != o.Script || again.MaxRestarts != 0 {
			t.Errorf("%q: %+v, %v", args, again, err)
		}
	})
}

func FuzzEndpoint(f *testing.F) {
	f.Add("[::1]:29400")
	f.Fuzz(func(t *testing.T, text string) {
		if host, port, err := parseEndpoint(text, 1); err == nil && (host == "" || port < 0 || port > 65535) {
			t.Errorf("%q: %q %d", text, host, port)
		}
	})
}

func TestFlagsAreDescribed(t *testing.T) {
	for _, f := range Flags() {
		if f.Usage == "" || (f.Hint == "") != (f.Kind == Switch) || f.Default != "" && f.valid(f.Default) != nil {
			t.Errorf("%+v", f)
		}
	}
}
