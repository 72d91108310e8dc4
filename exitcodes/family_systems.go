package exitcodes

import (
	"bytes"
	"slices"
)

// A condition is what systems around a training say, each in its own words, when it passes: batch systems, clouds,
// Kubernetes, databases, brokers. Each phrase is one of that system's, which no program says of its own arguments.
type condition struct {
	family
	words []string
	list  int
}

func passes(f family, words ...string) condition { return condition{f, words, phrases.list(words...)} }

var conditions = []condition{
	passes(transient("system", "NodeFailed", RoleRoot), // a machine is gone, or cannot start what it was asked to
		"node_fail", "boot_fail", "node failure on ", "nodelost", "node was lost", "node is lost", "node no longer exists", "nodeunusable", "host ec2 (instance",
		"compute target became unusable", "node is not ready", "nodenotready", "allocate unhealthy devices", "devices unavailable for", "podgc:",
		"required node not available (down", "containerstatusunknown", "container could not be located when"),
	passes(transient("system", "Evicted", RoleRoot), // or is taken back
		"reason: evicted", "reason=evicted", "pod was evicted", "job was evicted", "node is shutting down", "imminent node shutdown", "taintmanagereviction", "taint manager: deleting",
		"in order to admit critical pod", "ephemeral local storage usage exceeds", "instance was preempted", "machine was preempted", "node was preempted", "vm was preempted",
		"nodepreempted", "spotinstancetermination", "spot instance termination", "term_load: ", "job was preempted", "joblease", "state=preempted", "state preempted"),
	passes(transient("system", "LaunchFailed", RoleSuspect),
		"failedcreatepodsandbox", "create pod sandbox", "networkpluginnotready", "network is not ready", "multi-attach error", "volume is already used by pod",
		"slurmd could not", "communication connection failure", "communication shutdown failure", "message receive failure", "message send failure",
		"zero bytes were transmitted", "job credential expired", "prolog failed", "prolog error", "munge decode failed", "munge encode failed",
		"persistent connection init", "step creation temporarily disabled", "qsub: end of file", "message to qmaster", "communication error for \"",
		"lsf is down", "communication time out", "failed to end classad message", "failed to open persistent connection"),
	passes(transient("system", "NoCapacity", RoleRoot), // nobody has such machines to give at the moment
		"insufficientinstancecapacity", "insufficienthostcapacity", "insufficientcapacity", "insufficient instance capacity", "insufficient-capacity", "capacityerror:",
		"not have sufficient capacity", "resource_pool_exhausted", "resources available to fulfill the request", "no more capacity in the zone",
		"resources are insufficient in", "stockout", "out of host capacity", "outofhostcapacity", "zonalallocationfailed", "allocationfailed:", "overconstrainedallocation",
		"operationdenied.nostock", "is sold out", "have enough resource:", "fulfill launch request", "capacity for the requested", "capacity available for ",
		"not available for the requested instance"),
	passes(transient("system", "ServiceUnavailable", RoleRoot),
		// PostgreSQL and MySQL
		"terminating connection", "database system is ", "too many clients", "connection slots are reserved", "too many connections for", "too many connections'", "could not serialize access",
		"conflict with recovery", "in a read-only transaction", "ssl syscall error", "deadlock found when", "was deadlocked on lock", "server shutdown in progress", "max_user_connections", "locking protocol",
		// Redis, memcached, MongoDB
		"loading redis is", "busy redis is", "redis is loading the dataset", "clusterdown ", "masterdown ", "noreplicas ", "tryagain ", "max number of clients reached", "no master found for '",
		"no primary available", "not primary", "not master and ", "node is recovering", "replica set members", "interrupted at shutdown", "writeconflict", "connection pool paused",
		"operation exceeded time limit",
		// Kafka, ZooKeeper, Cassandra, Elasticsearch and others
		"brokers are down", "broker transport failure", "broker connections are down", "leader not available", "leader_not_available", "not leader for", "coordinator not available",
		"broker: not coordinator", "coordinator load in progress", "in-sync replicas", "rebalance in progress", "keepererrorcode = connectionloss", "keepererrorcode = session expired",
		"keepererrorcode = operationtimeout", "server has closed socket", "coordinator node overloaded", "achieve consistency level", "operation against any hosts",
		"none of the configured nodes are available", "no shard available", "circuit_breaking_exception", "master_not_discovered", "state not recovered", "too many simultaneous queries",
		"tns:no listener", "tns:connect", "end-of-file on communication channel", "connection lost contact", "login timeout expired", "servers available for connection",
		"connection_forced", "slurm backup controller", "requested node(s) are busy",
		// Kubernetes, clouds, object stores
		"object has been modified; please apply", "exceed context deadline", "client connection force closed", "apiserver not ready", "too old resource version",
		"internal error occurred", "internal error encountered", "internal error. please try again", "internal error on launch", "encountered an internal error", "send request failed",
		"unable to execute http request", "from the connection pool", "from the pool within", "over the account limit", "server not initialized yet", "operationtimedout", "within the specified time",
		"rate exceeded", "exceeds the rate limit", "exceeded the rate limit", "sharingviolation", "beingdeleted", "client closed request", "metadata service. status: 5",
		"error in the pull function", "timeout awaiting response headers", "hyper::error(incompletemessage)", "httptimeouterror", "kind: timeout"),
	passes(transient("system", ReasonPeerLost, RoleCascade),
		"connection reset", "forcibly closed by the remote", "aborted by the software in your host", "network name is no longer available", "keep-alive activity detecting",
		"received disconnect from", "disconnected from ", "corrupted mac on input", "message authentication code incorrect", "bad pack header", "batch request: eof",
		"returned nothing (no headers", "failure when receiving data from the peer", "failed sending data to the peer", "ssl connect error", "transferred a partial file",
		"in the http/2 framing layer", "proxy connect aborted", "link has been severed", "stream reset by server", "returned syscall, errno"),
	passes(transient("system", ReasonPeerUnreachable, RoleSuspect),
		"actively refused", "did not properly respond", "encountered a dead network", "destination host was down", "network path was not found",
		"network location cannot be reached", "resolve proxy", "host resolution failure", "temporary error during hostname resolution", "maxstartups", "stdio forwarding failed",
		"machine is not on the network"),
	passes(transient("system", "AddressInUse", RoleRoot), "only one usage of each socket address"),
	passes(transient("system", "ResourceBusy", RoleRoot), "no buffer space available", "interrupted system call", "too many open files in system", "resource deadlock", "insufficient system resources", "lacked sufficient buffer space"),
	passes(transient("system", "Timeout", RoleSuspect), "semaphore timeout period", "timer expired"),
	passes(transient("system", "InputOutputError", RoleRoot), "structure needs cleaning", "state not recoverable", "owner died", "communication error on send", "invalid exchange",
		"i/o device error", "memory page has hardware error"),
}

// passingConditions are the words of all conditions.
func passingConditions() (words []string) {
	for _, c := range conditions {
		words = append(words, c.words...)
	}
	return words
}

// systemFamily goes by what a system says.
func systemFamily(_, name string, message []byte, h heard) family {
	if ownErrors[name] {
		return family{}
	}
	for _, c := range conditions {
		if h.any(c.list) {
			return c.family
		}
	}
	end := bytes.ToLower(bytes.TrimRight(message[max(0, len(message)-40):], " .\n"))
	switch {
	case slices.ContainsFunc([]string{": protocol error", ": bad message"}, func(s string) bool { return bytes.HasSuffix(end, []byte(s)) }): // of a file server
		return transient("system", "InputOutputError", RoleRoot)
	case bytes.HasSuffix(end, []byte(": timeout")):
		return transient("system", "Timeout", RoleSuspect)
	}
	return family{}
}
