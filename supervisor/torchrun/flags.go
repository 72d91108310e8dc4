package torchrun

import "strings"

// Kind says how the value of a flag is written.
type Kind int

// The kinds of torchrun's flags. Python's int and float are read as Python reads them: " 1_0 " is 10.
const (
	Text   Kind = iota
	Switch      // takes no value; its variable is a whole number, 0 for off
	Int
	Float
	List // separated by commas; two commas are one that does not separate
)

// Flag is one flag of torchrun, for its parser, its help and its completion.
type Flag struct {
	Name     string // without dashes: nproc-per-node; underscores do as well
	Short    string // one letter without its dash, or ""
	Variable string // PET_…; "" for a flag that has none
	Hint     string // what the value is, for the help; "" for a Switch
	Usage    string
	Default  string   // as it would be given; "" for none
	Choices  []string // the only values allowed, when there are any
	Kind     Kind
}

// Spellings are the ways to write the flag, with dashes, the usual one first.
func (f Flag) Spellings() []string {
	all := []string{"--" + f.Name}
	if underscored := strings.ReplaceAll(f.Name, "-", "_"); underscored != f.Name {
		all = append(all, "--"+underscored)
	}
	if f.Short != "" {
		all = append(all, "-"+f.Short)
	}
	return all
}

// Flags is every flag of torchrun, --help among them, in the order of its own help.
func Flags() []Flag {
	flags := []Flag{
		{Name: "help", Short: "h", Kind: Switch, Usage: "show the help and exit"},
		{Name: "nnodes", Hint: "N|MIN:MAX|N,N,...", Default: "1:1", Usage: "how many nodes take part: a number or a range; or (not torchrun's) the sizes that are allowed"},
		{Name: "nproc-per-node", Hint: "N|cpu|gpu|auto", Default: "1", Usage: "how many workers each node runs"},
		{Name: "rdzv-backend", Hint: "static|c10d|etcd|etcd-v2", Default: "static", Usage: "how the nodes find each other"},
		{Name: "rdzv-endpoint", Hint: "HOST[:PORT]", Usage: "address at which the nodes find each other"},
		{Name: "rdzv-id", Hint: "ID", Default: "none", Usage: "the name of the run, the same on all its nodes"},
		{Name: "rdzv-conf", Hint: "KEY=VALUE,…", Usage: "settings of the rendezvous: join_timeout, last_call_timeout, ..."},
		{Name: "standalone", Kind: Switch, Usage: "run on this node alone; the rendezvous flags are ignored"},
		{Name: "max-restarts", Hint: "N", Default: "0", Kind: Int, Usage: "how often the workers may be restarted"},
		{Name: "monitor-interval", Hint: "SECONDS", Default: "0.1", Kind: Float,
			Usage: "accepted, but without effect: nothing is polled"},
		{Name: "start-method", Hint: "METHOD", Default: "spawn", Choices: []string{"spawn", "fork", "forkserver"},
			Usage: "how Python's multiprocessing starts the workers of --run-path"},
		{Name: "event-log-handler", Hint: "NAME", Default: "null",
			Usage: "null or console; neither prints anything: gangrun's own log shows what happens"},
		{Name: "role", Hint: "NAME", Default: "default",
			Usage: "what the workers are called, in ROLE_NAME and before their lines"},
		{Name: "module", Short: "m", Kind: Switch, Usage: "the script is a Python module, as for python -m"},
		{Name: "no-python", Kind: Switch, Usage: "the script is a program that needs no Python before it"},
		{Name: "run-path", Kind: Switch, Usage: "run the script by runpy.run_path; --no-python is ignored"},
		{Name: "log-dir", Hint: "DIR", Usage: "the parent of the log directories (default: a temporary one)"},
		{Name: "redirects", Short: "r", Hint: "0-3|RANK:0-3,…", Default: "0",
			Usage: "write to files instead of the console: 1 is stdout, 2 stderr, 3 both; for all or by local rank"},
		{Name: "tee", Short: "t", Hint: "0-3|RANK:0-3,…", Default: "0",
			Usage: "write to files as well as to the console, written as --redirects is"},
		{Name: "log-line-prefix-template", Hint: "TEMPLATE",
			Usage: "what is put before the lines of --tee (default: [${role_name}${local_rank}]:); also ${rank}, ${hostname}"},
		{Name: "local-ranks-filter", Hint: "RANK,…", Usage: "the local ranks that the console shows (default: all)"},
		{Name: "duplicate-stdout-filters", Hint: "TEXT,…", Kind: List,
			Usage: "also write the lines of --tee's stdout that contain one of these texts to filtered_stdout.log"},
		{Name: "duplicate-stderr-filters", Hint: "TEXT,…", Kind: List,
			Usage: "also write the lines of --tee's stderr that contain one of these texts to filtered_stderr.log"},
		{Name: "node-rank", Hint: "N", Default: "0", Kind: Int, Usage: "the number of this node, from 0"},
		{Name: "master-addr", Hint: "ADDRESS", Default: "127.0.0.1",
			Usage: "the address of node 0, for the static rendezvous"},
		{Name: "master-port", Hint: "PORT", Kind: Int,
			Usage: "the port on node 0 at which the ranks of the first round meet (default: any that is free); " +
				"the nodes themselves meet at --store-port"},
		{Name: "local-addr", Hint: "ADDRESS", Usage: "the address of this node (default: auto-detected)"},
		{Name: "logs-specs", Hint: "NAME",
			Usage: "only default, which changes nothing; any other is a Python class, and is refused"},
		{Name: "numa-binding", Hint: "MODE", Choices: []string{"node", "socket", "exclusive", "core-complex"},
			Usage: "refused: bind the workers with --no-python numactl, or in the script"},
		{Name: "signals-to-handle", Hint: "SIGNAL,…", Default: "SIGTERM,SIGINT,SIGHUP,SIGQUIT",
			Usage: "the signals that are passed on to the workers and end the run"},
		{Name: "shutdown-timeout", Hint: "SECONDS", Kind: Int,
			Usage: "how long workers may take to stop before SIGKILL (default: $TORCH_ELASTIC_SHUTDOWN_TIMEOUT, or 30)"},
		{Name: "virtual-local-rank", Kind: Switch, Usage: "every worker has LOCAL_RANK 0 and sees its own GPU alone"},
		{Name: "print-completion", Hint: "SHELL", Choices: []string{"bash", "zsh", "tcsh"},
			Usage: "print the completion for a shell and exit"},
	}
	for i, f := range flags {
		switch f.Name {
		case "help", "logs-specs", "numa-binding", "print-completion":
		default:
			flags[i].Variable = "PET_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		}
	}
	return flags
}
