package launch_test

import (
	"regexp"
	"strings"
)

// words are the words of a command line that needs no quotes.
var words = strings.Fields

// grid is the flag sets that both get. One run covers as much as it can, since each torchrun costs seconds.
// "{testdata}" and "{port}", a free port, are filled in.
var grid = []struct {
	name   string
	flags  []string
	script string // testdata/probe.py when empty
	args   []string
	env    []string
	want   string // a variable of every worker, under both
	fails  bool   // the launcher ends with a failure
}{
	{
		name: "bare",
		args: []string{"-r", "3", "--nproc-per-node", "9", "--", "--help", "a$$b", "${local_rank}x", "$local_rank",
			"${other} $ ${", "", "sp ace", "--max-restarts=4", "{dir}", "$local_rankx", "$$local_rank"},
	},
	{
		name:  "redirect all",
		flags: words("--nproc-per-node 3 -r 3 --log-dir {dir}/logs --standalone"),
	},
	{
		name:  "redirect none",
		flags: words("--nproc-per-node=2 --redirects=0 --tee=0 --log-dir={dir}/logs"),
		env:   words("OMP_NUM_THREADS=5"),
	},
	{
		name: "maps",
		flags: words("--nproc_per_node=3 -r 0:1,1:3 -t 2:3,0:2 --log_dir {dir}/a/new/directory --role trainer" +
			" --rdzv-backend c10d --rdzv-endpoint localhost:0 --rdzv-id job7"),
		want: "TORCHELASTIC_RUN_ID=job7",
	},
	{
		name: "tee",
		flags: append(words("--nproc-per-node 3 --tee 3 --local-ranks-filter 0,2 --log-dir {dir}/logs --standalone"),
			"--duplicate-stdout-filters", "line 1,,two,needle,, and", "--duplicate_stderr_filters=line 0,absent"),
	},
	{
		name:  "filter",
		flags: words("--nproc-per-node 3 --local_ranks_filter=1 --redirects 2 --log-dir {dir}/logs"),
	},
	{
		name:   "module",
		flags:  words("--nproc-per-node cpu -m --max-restarts 3"),
		script: "pkg.mod",
		args:   words("-m x"),
		env:    words("PYTHONPATH={testdata} TORCH_NCCL_ASYNC_ERROR_HANDLING=3"),
	},
	{
		name: "no python",
		flags: append(words("--no-python --nproc-per-node 2 -t 1"),
			"--log-line-prefix-template", "${role_name}/${rank}/${local_rank}: "),
		script: "{python}",
		args:   words("-S {testdata}/probe.py ${local_rank}"),
	},
	{
		name:  "run path",
		flags: words("--run-path -r 0:1"),
		args:  words("a b"),
	},
	{
		name: "variables",
		args: words("x"),
		env: words("PET_NPROC_PER_NODE=2 PET_LOG_DIR={dir}/logs PET_TEE=1:3 PET_ROLE=r PET_MAX_RESTARTS=2" +
			" PET_NO_PYTHON=0 PET_STANDALONE=1 PET_NNODES=1:1 PET_MONITOR_INTERVAL=0.05 PET_REDIRECTS=1"),
	},
	{
		name:  "flags win",
		flags: words("--nproc-per-node 1 --tee 0:1"),
		env:   words("PET_NPROC_PER_NODE=2 PET_TEE=2 TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE=<${rank}>"),
	},
	{
		name:  "prefixes",
		flags: words("--nproc-p 1 --nproc_per 2 --max_rest 1 --redir 3 --log_d {dir}/logs --rol=r --stand"),
	},
	{
		name:  "virtual rank",
		flags: words("--virtual-local-rank --nproc-per-node 2 --log-dir /dev/null"),
		args:  words("$local_rank"),
		env:   words("CUDA_VISIBLE_DEVICES=4,5"),
	},
	{
		name:  "restart",
		flags: words("--max-restarts 1 --nproc-per-node 2 -r 3 --log-dir {dir}/logs"),
		env:   words("PROBE_FAILS=1:-9"),
	},
	{
		name:  "restart after an exit code",
		flags: words("--max-restarts 2 --nproc-per-node 2 -r 1 --log-dir {dir}/logs"),
		env:   words("PROBE_FAILS=0:7"),
	},
	{
		name:  "no restart",
		flags: words("--nproc-per-node 2 -r 3 --log-dir {dir}/logs"),
		env:   words("PROBE_FAILS=0:7"),
		fails: true,
	},
	{
		name:  "port",
		flags: words("--master-port {port} --nproc-per-node 2 --rdzv-id named --log-dir {dir}/logs"),
		want:  "MASTER_PORT={port}",
	},
}

// allowed are the only variables in which a worker of gangrun may differ from one of torchrun, each with the reason
// and with what must hold for the two values all the same. Absent is the empty string.
var allowed = []struct {
	name   string
	reason string
	holds  func(theirs, ours string) bool
}{
	{"MASTER_ADDR", "of one node torchrun says localhost, which has to be looked up; gangrun says what it is",
		func(theirs, ours string) bool { return theirs == "localhost" && ours == "127.0.0.1" }},
	{"MASTER_PORT", "a free port, which is another one for each",
		func(theirs, ours string) bool { return port.MatchString(theirs) && port.MatchString(ours) }},
	{"TORCHELASTIC_RUN_ID", "a random id where torchrun makes one up",
		func(theirs, ours string) bool { return uuid.MatchString(theirs) && ours != "" }},
	{"TORCHELASTIC_USE_AGENT_STORE", "gangrun is no TCPStore server: rank 0 is",
		func(theirs, ours string) bool { return theirs == "True" && ours == "False" }},
	{"TORCHELASTIC_ERROR_FILE", "the run's directory has a random name; without one (/dev/null) torchrun loses the error",
		func(theirs, ours string) bool { return ours != "" && (theirs == "" || below(theirs) == below(ours)) }},
	{"TORCHELASTIC_SIGNALS_TO_HANDLE", "torchrun's way to tell itself its --signals-to-handle", absent},
	{"LC_CTYPE", "set by the Python that torchrun is", absent},
	{"NOTIFY_SOCKET", "gangrun's heartbeats", added},
	{"PYTHONFAULTHANDLER", "the Python stack of a worker that a signal ends, --python-stacks",
		func(theirs, ours string) bool { return theirs == "" && ours == "1" }},
	{"GANGRUN_*", "what gangrun tells beyond torchrun", added},
	{"_", "the shell's own, the launcher's path", func(string, string) bool { return true }},
}

func absent(_, ours string) bool  { return ours == "" }
func added(theirs, _ string) bool { return theirs == "" }

// same says whether a worker may have these two values of a variable.
func same(variable, theirs, ours string) bool {
	if theirs == ours {
		return true
	}
	for _, a := range allowed {
		if prefix, ok := strings.CutSuffix(a.name, "*"); variable == a.name || ok && strings.HasPrefix(variable, prefix) {
			return a.holds(theirs, ours)
		}
	}
	return false
}

var (
	port    = regexp.MustCompile(`^[1-9]\d{3,4}$`)
	uuid    = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	attempt = regexp.MustCompile(`/attempt_.*$`)
)

// below is the part of an error file's path that is not random.
func below(errorFile string) string { return attempt.FindString(errorFile) }
