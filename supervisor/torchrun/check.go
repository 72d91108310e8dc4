package torchrun

import (
	"strings"

	"github.com/gangrun/gangrun/exitcodes"
)

// Check refuses what torchrun can do, or lets pass, and a launcher without Python cannot: with the reason, and never by
// ignoring it. It is not for a command line that torchrun itself will run.
func (o Options) Check() error {
	for _, refuse := range []func() error{o.checkPlugins, o.checkRendezvous, o.checkScript, o.checkSignals} {
		if err := refuse(); err != nil {
			return err
		}
	}
	return nil
}

// from is how a flag was given.
func (o Options) from(name string) string {
	if source, ok := o.Given[name]; ok {
		return source
	}
	return "--" + name
}

// EventsToConsole is the handler of events that prints them.
const EventsToConsole = "console"

func (o Options) checkPlugins() error {
	_, specs := o.Given["logs-specs"]
	_, numa := o.Given["numa-binding"]
	switch {
	case specs && o.LogsSpecs != "default": // which is what is done anyway
		return wrong(o.from("logs-specs"),
			"%q is a Python class, and no Python runs here; --log-dir, --redirects and --tee decide on logs", o.LogsSpecs)
	case numa:
		return wrong(o.from("numa-binding"),
			"it is part of torchrun's own process; bind the workers with --no-python numactl, or in the script")
	case o.EventLogHandler != "null" && o.EventLogHandler != EventsToConsole:
		return wrong(o.from("event-log-handler"),
			"%q is a handler in Python, and no Python runs here; null and console are possible", o.EventLogHandler)
	}
	return nil
}

func (o Options) checkRendezvous() error {
	_, asked := o.Given["standalone"]
	if asked && o.Standalone {
		if o.MinNodes > 1 {
			return wrong(o.from("standalone"), "it is one node, and %s asks for at least %d", o.from("nnodes"), o.MinNodes)
		}
		return nil
	}
	switch o.Backend {
	case "static", "c10d", "etcd", "etcd-v2":
	default:
		return wrong(o.from("rdzv-backend"), "%q is not a rendezvous; there are static, c10d, etcd and etcd-v2", o.Backend)
	}
	if o.Conf["store_type"] == "file" {
		return wrong(o.from("rdzv-conf"),
			"store_type=file is a store that this launcher does not have; leave it out, or name an etcd")
	}
	if o.Backend == "static" && !o.Standalone && o.NodeRank >= o.MaxNodes {
		return wrong(o.from("node-rank"), "%d is not below the number of nodes, %d; node ranks begin at 0",
			o.NodeRank, o.MaxNodes)
	}
	return nil
}

func (o Options) checkScript() error {
	switch {
	case o.Script == "":
		return wrong("training script", "it is empty")
	case o.Module && o.NoPython && !o.RunPath:
		return wrong(o.from("module"), "a module needs Python, and %s asks for none", o.from("no-python"))
	}
	return nil
}

func (o Options) checkSignals() error {
	for _, name := range o.Signals {
		n, err := exitcodes.ParseSignal(name)
		switch {
		case err != nil || !strings.HasPrefix(name, "SIG") || name != strings.ToUpper(name):
			return wrong(o.from("signals-to-handle"),
				"%q is not the name of a signal; names are written as SIGTERM,SIGUSR1", name)
		case name == "SIGKILL" || name == "SIGSTOP":
			return wrong(o.from("signals-to-handle"), "%s (%d) can be handled by nobody", name, n)
		}
	}
	return nil
}
