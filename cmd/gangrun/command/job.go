package command

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/location"
	"github.com/gangrun/gangrun/rendezvous/port"
	"github.com/gangrun/gangrun/supervisor/platform"
)

// job is what the flags say about the job as a whole and this node's place in it.
type job struct {
	spec                              rendezvous.Spec
	backoff, backoffMax, window       time.Duration
	fence, joinTimeout, lastCall, ttl time.Duration
	storeTimeout                      time.Duration
	lastCallGiven                     bool
	nodes                             string // as given: N, MIN:MAX or sizes
	slots                             int    // workers on this node
	role                              string // of the node
	host                              string // the machine that it runs on; empty: nobody has named it
	roles                             map[string]rendezvous.RolePolicy
	pin                               int    // the rank that was given to this node; -1 for none
	address                           string // at which the others reach this node
	firstPort                         int    // for the first round's master; 0 for any
	portRange                         port.Range
	noPort                            bool // the workers need none
	namespace, runUID                 string
	endpoints                         string // of an etcd
	endpoint                          string // of a store within gangrun
	nameless                          bool   // the job's name is not its own
	storePort                         int
	location                          location.Location
	unique                            bool
	nodeGiven                         bool
	held                              heldName
}

func defaultJob() job {
	return job{
		spec: rendezvous.DefaultSpec(1), slots: 1, pin: -1,
		backoff: rendezvous.DefaultBackoff, backoffMax: rendezvous.DefaultBackoffMax,
		fence: rendezvous.DefaultFence, joinTimeout: rendezvous.DefaultJoinTimeout, lastCall: rendezvous.DefaultLastCall,
		ttl: rendezvous.DefaultTTL, storeTimeout: agent.DefaultStoreTimeout, storePort: location.DefaultPort,
	}
}

// jobSettings are those about several nodes.
func (o *options) jobSettings() []*setting {
	s := []*setting{
		{name: "nodes", hint: "N|MIN:MAX|N,N,...", parse: o.parseNodes, standard: "from the operator's variables, else 1",
			usage: "how many nodes take part: a number, a range, or the sizes that are allowed; the largest that can be formed is taken"},
		{name: "node-rank", hint: "N", parse: number(&o.pin, 0, 4095), standard: "from the operator's variables, else any",
			usage: "the rank of this node"},
		{name: "role", hint: "NAME", parse: text(&o.role), standard: "from TF_CONFIG or the operator's names, else none",
			usage: "what this node is: chief, worker, ps, ..."},
		{name: "roles", many: true, hint: "ROLE=RESTART[,optional]", parse: o.parseRole, mapping: roleMapping, standard: "from TF_CONFIG, else gang",
			usage: "who starts again after a failure of that role: gang (all), self (it alone) or never; optional: success does not wait for it"},
		{name: "node-address", hint: "ADDRESS", parse: text(&o.address), standard: "the one by which it reaches the store",
			usage: "address at which the other nodes reach this one"},
		{name: "host", hint: "NAME", parse: o.parseHost, standard: "SLURMD_NODENAME, else the machine's boot id",
			usage: "name of the machine that this node runs on, the same for all nodes on it: a sick machine is banned by this name"},
		{name: "unique-nodes", isBool: true, parse: boolean(&o.unique), standard: "on under PyTorchJob and TFJob",
			usage: "a node is never started before the previous one of the same name is gone (an Indexed Job's podReplacementPolicy: Failed)"},
		{name: "master-port-range", hint: "LOW-HIGH", parse: o.parsePortRange, standard: "any that is free",
			usage: "ports at which the ranks of a round may meet, for firewalls; each round uses another one"},
		{name: "store", hint: "URL,...", parse: text(&o.endpoints), standard: "within gangrun, on the first node",
			usage: "etcd through which the nodes meet"},
		{name: "endpoint", hint: "HOST[:PORT]", parse: text(&o.endpoint), standard: "from the operator's variables",
			usage: "address of the store within gangrun; the node that has this address hosts it, and all nodes give the same"},
		{name: "store-ca", hint: "FILE", parse: text(&o.location.CA), standard: "the system's", usage: "certificate authority of the store"},
		{name: "store-cert", hint: "FILE", parse: text(&o.location.Cert), standard: "none", usage: "client certificate for the store; that of the store itself where it is within gangrun"},
		{name: "store-key", hint: "FILE", parse: text(&o.location.Key), standard: "none", usage: "private key of --store-cert"},
		{name: "store-user-file", hint: "FILE", parse: text(&o.location.UserFile), standard: "none", usage: "file with the user name for the store"},
		{name: "store-password-file", hint: "FILE", parse: text(&o.location.PasswordFile), standard: "none", usage: "file with the password for the store"},
		{name: "store-token-file", hint: "FILE", parse: text(&o.location.TokenFile), standard: "none",
			usage: "file with a secret that the nodes of a job share, for a store within gangrun; an etcd has users instead"},
		{name: "store-port", hint: "PORT", parse: number(&o.storePort, 1, 65535), standard: strconv.Itoa(location.DefaultPort),
			usage: "port of the store within gangrun, where the operator names only a host"},
		{name: "store-dir", hint: "DIR", parse: text(&o.location.Dir), standard: "temporary", usage: "directory for the files of the store within gangrun"},
		{name: "store-timeout", hint: "TIME", parse: duration(&o.storeTimeout), standard: "10m",
			usage: "how long to wait for a store that does not answer"},
		{name: "namespace", hint: "NAME", parse: text(&o.namespace), standard: "default", usage: "where in the store the job's record is kept"},
		{name: "run-uid", hint: "ID", parse: text(&o.runUID), standard: "from the operator's variables, else generated",
			usage: "tells this run of the job from an earlier one"},
		{name: "fence-timeout", hint: "TIME", parse: duration(&o.fence), standard: "1m",
			usage: "a node that is silent for this long counts as gone; by then it has stopped its workers"},
		{name: "join-timeout", hint: "TIME", parse: duration(&o.joinTimeout), standard: "10m", usage: "how long to wait for missing nodes"},
		{name: "last-call", hint: "TIME", parse: o.parseLastCall, standard: "30s, 1s before a restart",
			usage: "how long to wait for more nodes once there are enough, but fewer than the most"},
		{name: "grow", hint: "restart|checkpoint", parse: choice(&o.spec.Grow, rendezvous.GrowRestart, rendezvous.GrowCheckpoint),
			standard: "restart", usage: "when to admit nodes that come late"},
		{name: "max-preemptions", hint: "N", parse: number(&o.spec.Restarts.MaxPreemptions, 0, 1_000_000), standard: "no limit",
			usage: "restarts after announced departures (preemptions)"},
		{name: "ttl-after-finished", hint: "TIME", parse: duration(&o.ttl), standard: "1h", usage: "how long a finished job's record is kept"},
	}
	for _, setting := range s {
		setting.group = groupNodes
	}
	return s
}

func (o *options) parsePortRange(s string) error {
	low, high, found := strings.Cut(s, "-")
	r := &o.portRange
	if !found || number(&r.Low, 1, 65535)(low) != nil || number(&r.High, r.Low, 65535)(high) != nil {
		return errors.New("want two port numbers, the lower one first, such as 29500-29599")
	}
	return nil
}

func (o *options) parseLastCall(s string) error {
	o.lastCallGiven = true
	return duration(&o.lastCall)(s)
}

// torchrunRole is torchrun's name for the role of a node without one.
const torchrunRole = "default"

// settle decides where the nodes meet and what this node is called, from the flags and what the operator says.
func (o *options) settle(p platform.Platform) error {
	o.settleBare(&p)
	if o.nodes == "" && !p.Nodes.OneNode() {
		if err := o.parseNodes(p.Nodes.Value); err != nil {
			return &configError{fmt.Sprintf("variable %s=%s: %v", p.Nodes.From, p.Nodes.Value, err)}
		}
	}
	o.role = cmp.Or(o.role, p.Role.Value)
	if o.Role = o.role; o.Role == torchrunRole {
		o.Role = ""
	}
	if err := o.settleStore(p); err != nil {
		return err
	}
	if err := checkAccess(o.location); err != nil {
		return err
	}
	if o.pin >= o.spec.MaxNodes {
		return &configError{fmt.Sprintf("--node-rank %d: want one below the number of nodes, %d: node ranks begin at 0", o.pin, o.spec.MaxNodes)}
	}
	if o.location.InProcess() { // a gang of one; what success needs is all there is
		o.spec.Restarts.Never = o.spec.Restarts.Never || o.roles[o.role].Restart == rendezvous.RestartNever
		return nil
	}
	if o.pin < 0 && p.Rank.Value != "" {
		if err := number(&o.pin, 0, 4095)(p.Rank.Value); err != nil {
			return &configError{fmt.Sprintf("variable %s=%s: %v", p.Rank.From, p.Rank.Value, err)}
		}
	}
	o.unique = o.unique || p.Unique
	o.host = cmp.Or(o.host, p.Machine.Value)
	o.settleRoles(p)
	if host := p.TaskHost; o.spec.MinNodes < o.spec.MaxNodes && host != "" && host != o.Node {
		return &configError{fmt.Sprintf("--node %s: TF_CONFIG is brought up to date when nodes are missing, and knows this one as %s: give it that name",
			o.Node, host)}
	}
	o.runUID = cmp.Or(o.runUID, p.RunUID.Value)
	o.location.Namespace = cmp.Or(o.namespace, "default")
	o.location.Job = o.Job
	if o.Job == "" {
		if len(o.location.Endpoints) > 0 {
			return &configError{"a job in a shared store needs a name: give --job, the same on all its nodes"}
		}
		o.location.Job = "job" // the only one in its own store
	}
	if o.address == "" {
		return o.findAddress()
	}
	return nil
}

// settleBare takes torchrun's number of nodes from a variable that stands alone where gangrun's own settings say where
// these meet, and else says that it has no effect: the command may know a place of its own.
func (o *options) settleBare(p *platform.Platform) {
	switch bare := p.Bare; {
	case o.nodes != "" || bare.Value == "":
	case o.endpoints != "" || o.endpoint != "":
		p.Nodes, p.Rank = bare, cmp.Or(p.Rank, p.BareRank)
	case !bare.OneNode():
		o.warnings = append(o.warnings, fmt.Sprintf("%s=%s has no effect: no variable says where the nodes meet, so each is supervised by "+
			"itself; with --nodes, and --store or --endpoint, all restart together", bare.From, plain.Text(bare.Value)))
	}
}

// settleStore decides where the nodes meet.
func (o *options) settleStore(p platform.Platform) error {
	switch {
	case o.endpoints != "" && o.endpoint != "":
		return &configError{"--store and --endpoint: the nodes meet at one place, at an etcd or in a store within gangrun"}
	case o.endpoints != "":
		o.location.Endpoints = strings.Split(o.endpoints, ",")
	case o.endpoint != "":
		return o.settleEndpoint()
	case o.spec.MaxNodes == 1 || !o.location.InProcess():
	case p.Endpoint.Value == "":
		return &configError{fmt.Sprintf("%d nodes have to meet somewhere: give --store, the URL of an etcd, or --endpoint, the address "+
			"of one of them", o.spec.MaxNodes)}
	default:
		host, number := p.Host()
		if strings.HasPrefix(p.Backend.Value, "etcd") {
			o.location.Endpoints = []string{net.JoinHostPort(host, strconv.Itoa(cmp.Or(number, 2379)))}
			return nil
		}
		if p.Backend.Value == "" {
			number = 0 // it is the workers', not the store's
		}
		o.location.Host, o.location.Port = host, cmp.Or(number, o.storePort)
	}
	return nil
}

// checkAccess refuses credentials that the chosen store cannot use.
func checkAccess(l location.Location) error {
	given := 0
	for _, file := range []string{l.CA, l.Cert, l.Key} {
		if file != "" {
			given++
		}
	}
	switch {
	case len(l.Endpoints) > 0 && l.TokenFile != "":
		return &configError{"--store-token-file is for a store within gangrun; an etcd has users: --store-user-file and --store-password-file"}
	case l.Host == "":
	case l.UserFile != "" || l.PasswordFile != "":
		return &configError{"--store-user-file and --store-password-file are for an etcd; a store within gangrun has --store-token-file"}
	case given != 0 && given != 3:
		return &configError{"a store within gangrun needs all three of --store-ca, --store-cert and --store-key on every node: each may be its " +
			"server, and is its client"}
	}
	return nil
}

// settleEndpoint reads where a store within gangrun is to be.
func (o *options) settleEndpoint() error {
	o.location.Host, o.location.Port = strings.Trim(o.endpoint, "[]"), o.storePort
	if host, port, err := net.SplitHostPort(o.endpoint); err == nil {
		o.location.Host = host
		if err := number(&o.location.Port, 1, 65535)(port); err != nil {
			return &configError{fmt.Sprintf("--endpoint %s: port: %v", o.endpoint, err)}
		}
	}
	if o.location.Host == "" {
		return &configError{fmt.Sprintf("--endpoint %s: want HOST or HOST:PORT", o.endpoint)}
	}
	return nil
}

// findAddress finds this node's address: the one by which it reaches the store.
func (o *options) findAddress() error {
	host, number := o.location.Host, o.location.Port
	if host == "" {
		endpoint := o.location.Endpoints[0]
		if _, after, found := strings.Cut(endpoint, "://"); found {
			endpoint = after
		}
		host, number = endpoint, 2379
		if h, p, err := net.SplitHostPort(endpoint); err == nil {
			host = h
			number, _ = strconv.Atoi(p) // whatever it is: nothing is sent
		}
	}
	address, err := location.LocalAddressFor(host, number)
	if err != nil {
		return &configError{"--node-address: " + err.Error()}
	}
	o.address = address
	return nil
}

// checkTimes refuses times that contradict each other.
func (o *options) checkTimes() error {
	if stop := o.RestartGrace + stopMargin + silence; !o.location.InProcess() && o.fence/2 < stop {
		return &configError{fmt.Sprintf("--fence-timeout %v: want at least %v, twice as long as --restart-grace and %v, or workers would be "+
			"stopped whenever the store takes a moment to answer", o.fence, 2*stop, stopMargin+silence)}
	}
	return nil
}

// stopMargin is what it takes, beyond the grace, until the last process is gone: the leftovers' own grace, and the kill.
const stopMargin = 2 * time.Second

// silence is how long the store may be silent at least before workers are stopped for that: a lease is renewed every 1.7 s.
const silence = 3 * time.Second
