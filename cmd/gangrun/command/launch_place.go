package command

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/torchrun"
)

// place says where the nodes meet, and at which address and port the ranks do. A port that was asked for is honoured in
// round 0; each later round has a new one, so that nothing of an old round is met there.
func (o *options) place(t torchrun.Options) error {
	_, addressGiven := t.Given["master-addr"]
	_, portGiven := t.Given["master-port"]
	static := t.Backend == "static" && !t.Standalone
	if portGiven && static {
		o.firstPort = t.MasterPort
	}
	o.address = cmp.Or(o.address, t.LocalAddr)
	_, alone := t.Given["standalone"]
	stored := (o.endpoints != "" || o.endpoint != "") && !(alone && t.Standalone)
	if !stored && (t.Standalone || t.MaxNodes == 1) {
		if addressGiven && static {
			o.address = t.MasterAddr
		}
		return nil
	}
	o.spec.MinNodes, o.spec.MaxNodes, o.spec.Sizes = t.MinNodes, t.MaxNodes, t.Sizes
	o.nodes = o.spec.NodesText()                                      // torchrun's flags have read the operator's variables
	if _, given := t.Given["node-rank"]; given || static && !stored { // torchrun's default, where ranks are all that tells nodes apart
		o.pin = t.NodeRank
	}
	o.meet(t, static)
	if err := o.waits(t.Conf); err != nil {
		return err
	}
	if err := o.settle(o.platform); err != nil {
		return err
	}
	return o.checkTimes()
}

// placeIdle refuses, or notes for the log, settings for several nodes that do nothing.
func (o *options) placeIdle(t torchrun.Options, settings []*setting) error {
	list := o.idleAlone(t.Given["rdzv-endpoint"] != "" || t.Given["master-addr"] != "" || o.platform.Endpoint.Value != "")
	if _, alone := t.Given["standalone"]; alone && t.Standalone {
		list = append([]idle{{names: []string{"store", "endpoint"}, why: "does not go with --standalone, which is one node without a store"}},
			list...)
	}
	if err := o.refuseIdle(settings, list); err != nil {
		return err
	}
	var polls []string
	for _, name := range []string{"monitor-interval", "start-method"} {
		if as, given := t.Given[name]; given {
			polls = append(polls, as)
		}
	}
	o.noteIdle("nothing is polled, and no Python process forks", polls...)
	var unused []string
	for key := range t.Conf {
		if !slices.Contains(usedConf, key) {
			unused = append(unused, "--rdzv-conf "+key)
		}
	}
	slices.Sort(unused)
	o.noteIdle("a setting of torchrun's own rendezvous", unused...)
	return nil
}

// usedConf are the keys of --rdzv-conf that are read, somewhere.
var usedConf = []string{"protocol", "ca_cert", "cacert", "ssl_cert", "cert", "ssl_cert_key", "key", "join_timeout", "last_call_timeout", "store_type"}

// meet says where the store is, unless gangrun's own flags do.
func (o *options) meet(t torchrun.Options, static bool) {
	switch {
	case o.endpoints != "" || o.endpoint != "":
	case static:
		if t.Sizes == nil {
			o.spec.MinNodes = t.MaxNodes // as torchrun, which waits for all
		}
		o.location.Host, o.location.Port = t.Host, o.storePort
		if t.Endpoint == "" {
			o.location.Host = t.MasterAddr
			o.warnLoopback(t, "master-addr")
		}
		o.location.First = o.pin == 0
	case t.Backend == "c10d":
		o.location.Host, o.location.Port = cmp.Or(t.Host, "localhost"), t.Port
		o.warnLoopback(t, "rdzv-endpoint")
	default:
		o.warnLoopback(t, "rdzv-endpoint")
		o.location.Endpoints = []string{cmp.Or(t.Conf["protocol"], "http") + "://" + net.JoinHostPort(t.Host, strconv.Itoa(t.Port))}
		o.location.CA = cmp.Or(o.location.CA, t.Conf["ca_cert"], t.Conf["cacert"])
		o.location.Cert = cmp.Or(o.location.Cert, t.Conf["ssl_cert"], t.Conf["cert"])
		o.location.Key = cmp.Or(o.location.Key, t.Conf["ssl_cert_key"], t.Conf["key"])
	}
}

// warnLoopback warns of several nodes of which nobody says where they meet: by torchrun's default that is this machine, and so
// is it on each of them.
func (o *options) warnLoopback(t torchrun.Options, flag string) {
	if _, given := t.Given[flag]; given {
		return
	}
	says := fmt.Sprintf("--%s is not given: the nodes meet at %s, which other machines cannot reach; if they are on several, give all the same --%[1]s",
		flag, cmp.Or(o.location.Host, t.Host))
	if flag == "master-addr" { // else ranks are assigned
		says += ", and each its --node-rank"
	}
	o.warnings = append(o.warnings, says)
}

// waits takes over how long --rdzv-conf lets nodes wait for each other.
func (o *options) waits(conf map[string]string) error {
	for key, timing := range map[string]*time.Duration{"join_timeout": &o.joinTimeout, "last_call_timeout": &o.lastCall} {
		if value, found := conf[key]; found {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil || seconds < 0 || seconds > 1e9 {
				return &configError{fmt.Sprintf("--rdzv-conf %s=%s: want a number of seconds", key, value)}
			}
			*timing = time.Duration(seconds * float64(time.Second))
		}
	}
	return nil
}

// adoptTorchrun takes over what torchrun's flags say about gangrun itself.
func (o *options) adoptTorchrun(t torchrun.Options) error {
	o.spec.Restarts.Max, o.spec.Restarts.Any = t.MaxRestarts, true
	if _, given := t.Given["shutdown-timeout"]; given && !o.graceGiven {
		o.Grace, o.RestartGrace = t.ShutdownTimeout, t.ShutdownTimeout
		o.graceGiven = true
	}
	o.StopSignals = nil
	for _, name := range t.Signals {
		n, err := exitcodes.ParseSignal(name)
		if err != nil {
			return &configError{fmt.Sprintf("--signals-to-handle %s: %v", name, err)}
		}
		o.StopSignals = append(o.StopSignals, unix.Signal(n))
	}
	if o.Scope == supervisor.ScopeSession {
		return &configError{"--signal-scope session: each rank has a session of its own anyway; want worker or group"}
	}
	return o.adaptGrace()
}
