package torchrun

import (
	"math"
	"strings"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
)

// Options is a whole command line of torchrun, with its PET_ variables and defaults.
type Options struct {
	MinNodes, MaxNodes int
	Sizes              []int  // that a round may have, where these were given: gangrun's own; nil: any from the least to the most
	NProc              string // as given: a number, cpu, gpu, auto, …; see [Workers]

	Backend    string
	Endpoint   string            // as given
	Host       string            // of the endpoint; for static without one, MasterAddr
	Port       int               // of the endpoint, or its backend's own: 29400 for c10d, 2379 for etcd
	RunID      string            // "none" when not given; with Standalone torchrun makes up its own whatever is given
	Conf       map[string]string // --rdzv-conf
	Standalone bool              // --standalone, or what means the same: see [Parse]

	MaxRestarts        int
	MonitorInterval    time.Duration
	StartMethod        string
	EventLogHandler    string
	Role               string
	Module             bool
	NoPython           bool
	RunPath            bool
	LogDir             string // "" for a temporary one
	Redirects, Tee     Streams
	LinePrefixTemplate string
	LocalRanksFilter   []int // nil for all
	StdoutFilters      []string
	StderrFilters      []string

	NodeRank         int
	MasterAddr       string
	MasterPort       int
	LocalAddr        string
	LogsSpecs        string
	NUMABinding      string
	Signals          []string
	ShutdownTimeout  time.Duration
	VirtualLocalRank bool

	Script string
	Args   []string // of the script

	Help       bool   // --help was given: nothing else was read
	Completion string // the shell of --print-completion: nothing else was read

	Given       map[string]string // how each was, by name: "nproc-per-node": "-…" or "PET_…"
	Own         []OwnFlag         // in order
	ScriptIndex int               // where the script stands in the arguments
	InsertAt    int               // where more flags may be put in: before the script, and before a "--" before it
}

const (
	defaultMasterPort = 29500
	c10dPort          = 29400
	etcdPort          = 2379
)

// Parse reads what follows the name torchrun on a command line. lookup is the environment; own may be nil.
//
// As in torch 2.15, a run of one node with neither an endpoint nor a master port is Standalone. The errors are
// [*FlagError] and [*UnknownFlagError]; what gangrun cannot do is told by [Options.Check].
func Parse(args []string, lookup func(string) (string, bool), own Own) (Options, error) {
	w, err := split(args, own)
	if err != nil {
		return Options{}, err
	}
	if w.help || w.completion != "" {
		return Options{Help: w.help, Completion: w.completion, Own: w.own}, nil
	}
	if err := w.variables(lookup); err != nil {
		return Options{}, err
	}
	if w.noScript {
		return Options{}, wrong("training script", "none is given; want gangrun launch [flags] SCRIPT [ARGUMENT...]")
	}
	o := w.typed()
	for _, read := range []func(*Options, func(string) (string, bool)) error{
		w.readNodes, w.readRendezvous, w.readEndpoint, w.readOutput, w.readTimes,
	} {
		if err := read(&o, lookup); err != nil {
			return Options{}, err
		}
	}
	return o, nil
}

// source is how a flag was given, for errors.
func (w *words) source(name string) string {
	if source, ok := w.given[name]; ok {
		return source
	}
	return "--" + name
}

func (w *words) number(name string) int {
	n, _ := number(w.values[name]) // checked when it was taken
	return n
}

// typed fills in the defaults and what needs no further reading.
func (w *words) typed() Options {
	for _, f := range Flags() {
		if _, ok := w.values[f.Name]; !ok && f.Default != "" {
			w.values[f.Name] = f.Default
		}
	}
	v := w.values
	o := Options{
		NProc: v["nproc-per-node"], Backend: v["rdzv-backend"], Endpoint: trim(v["rdzv-endpoint"]), RunID: v["rdzv-id"],
		Standalone: v["standalone"] == "1", MaxRestarts: w.number("max-restarts"), StartMethod: v["start-method"],
		EventLogHandler: v["event-log-handler"], Role: v["role"], Module: v["module"] == "1",
		NoPython: v["no-python"] == "1", RunPath: v["run-path"] == "1", LogDir: v["log-dir"],
		LinePrefixTemplate: v["log-line-prefix-template"], NodeRank: w.number("node-rank"),
		MasterAddr: v["master-addr"], MasterPort: w.number("master-port"), LocalAddr: v["local-addr"],
		LogsSpecs: v["logs-specs"], NUMABinding: v["numa-binding"], VirtualLocalRank: v["virtual-local-rank"] == "1",
		Script: w.script, Args: w.args,
		Given: w.given, Own: w.own, ScriptIndex: w.scriptIndex, InsertAt: w.insertAt,
	}
	if text, ok := v["duplicate-stdout-filters"]; ok {
		o.StdoutFilters = list(text)
	}
	if text, ok := v["duplicate-stderr-filters"]; ok {
		o.StderrFilters = list(text)
	}
	for name := range strings.SplitSeq(v["signals-to-handle"], ",") {
		o.Signals = append(o.Signals, trim(name))
	}
	return o
}

func (w *words) readNodes(o *Options, _ func(string) (string, bool)) error {
	text, source := w.values["nnodes"], w.source("nnodes")
	if strings.Contains(text, ",") { // torchrun has no such thing
		sizes, err := rendezvous.ParseSizes(text)
		if err != nil {
			return wrong(source, "%v", err)
		}
		o.Sizes, o.MinNodes, o.MaxNodes = sizes, sizes[0], sizes[len(sizes)-1]
		return w.checkCounts(o)
	}
	low, high, elastic := strings.Cut(text, ":")
	if !elastic {
		high = low
	}
	var errLow, errHigh error
	o.MinNodes, errLow = number(low)
	o.MaxNodes, errHigh = number(high)
	switch {
	case errLow != nil || errHigh != nil:
		return wrong(source, "%q is neither a number of nodes nor MIN:MAX", text)
	case o.MinNodes < 1:
		return wrong(source, "%q asks for %d nodes; at least 1 takes part", text, o.MinNodes)
	case o.MinNodes > o.MaxNodes:
		return wrong(source, "%q has a minimum above its maximum", text)
	}
	return w.checkCounts(o)
}

// checkCounts refuses numbers that cannot be.
func (w *words) checkCounts(o *Options) error {
	switch {
	case o.MaxRestarts < 0:
		return wrong(w.source("max-restarts"), "%d is below 0", o.MaxRestarts)
	case o.NodeRank < 0:
		return wrong(w.source("node-rank"), "%d is below 0", o.NodeRank)
	}
	return nil
}

func (w *words) readOutput(o *Options, lookup func(string) (string, bool)) error {
	var err error
	if o.Redirects, err = parseStreams(w.values["redirects"]); err != nil {
		return wrong(w.source("redirects"), "%v", err)
	}
	if o.Tee, err = parseStreams(w.values["tee"]); err != nil {
		return wrong(w.source("tee"), "%v", err)
	}
	if text := w.values["local-ranks-filter"]; text != "" {
		for item := range strings.SplitSeq(text, ",") {
			rank, err := number(item)
			if err != nil {
				return wrong(w.source("local-ranks-filter"), "%v; local ranks are given as 0,1,2", err)
			}
			o.LocalRanksFilter = append(o.LocalRanksFilter, rank)
		}
	}
	if o.LinePrefixTemplate == "" {
		o.LinePrefixTemplate, _ = lookup("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE")
	}
	if o.LinePrefixTemplate == "" {
		o.LinePrefixTemplate = "[${role_name}${local_rank}]:"
	}
	return nil
}

const longest = math.MaxInt64 / float64(time.Second) // a duration has no more seconds

func (w *words) readTimes(o *Options, lookup func(string) (string, bool)) error {
	seconds, _ := decimal(w.values["monitor-interval"])
	if !(seconds > 0 && seconds < longest) { // written so that NaN is refused
		return wrong(w.source("monitor-interval"), "%q is not a number of seconds above 0", w.values["monitor-interval"])
	}
	o.MonitorInterval = max(1, time.Duration(seconds*float64(time.Second)))

	text, source := w.values["shutdown-timeout"], w.source("shutdown-timeout")
	if text == "" {
		const variable = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
		value, ok := lookup(variable)
		if !ok {
			o.ShutdownTimeout = 30 * time.Second
			return nil
		}
		text, source = value, variable
		w.given["shutdown-timeout"] = variable
	}
	n, err := number(text)
	if err != nil || n < 0 || float64(n) >= longest {
		return wrong(source, "%q is not a whole number of seconds from 0 on", text)
	}
	o.ShutdownTimeout = time.Duration(n) * time.Second
	return nil
}
