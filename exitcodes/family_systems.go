package exitcodes

import (
	"bytes"
	"slices"
)

// A condition is what systems around a training job say, each in its own words, when it passes: batch systems, clouds,
// Kubernetes, databases, brokers, the workers of other languages' runtimes. Each phrase is one of that system's, which no program says of its own arguments.
type condition struct {
	family
	words []string
	list  int
}

func passes(f family, words ...string) condition { return condition{f, words, phrases.list(words...)} }

var conditions = []condition{
	passes(transient("system", "NodeFailed", RoleRoot), // a machine is gone, or cannot start what it was asked to
		"node_fail", "boot_fail", "node failure on ", "nodelost", "node was lost", "node is lost", "node no longer exists", "nodeunusable", "host ec2 (instance",
		"compute target became unusable", "on a *lost* node", "exitcode: -100", "exit status: -100", "slice failure", "slice health check", "core halted", "node is not ready", "\" is not ready", "nodenotready", "allocate unhealthy devices", "devices unavailable for", "podgc:",
		"required node not available (down", "requeued, execution node", "containerstatusunknown", "container could not be located when"),
	passes(transient("system", "Evicted", RoleRoot), // or is taken back
		"reason: evicted", "reason=evicted", "pod was evicted", "job was evicted", "node is shutting down", "imminent node shutdown", "taintmanagereviction", "taint manager: deleting",
		"in order to admit critical pod", "ephemeral local storage usage exceeds", "instance was preempted", "machine was preempted", "node was preempted", "vm was preempted",
		"nodepreempted", "spotinstancetermination", "spot instance termination", "term_load: ", "term_preempt: ", "term_threshold: ", "term_remove_hung_job: ", "term_window: ", "term_requeue_owner: ", "term_requeue_admin: ", "job was preempted", "joblease", "state=preempted", "state preempted", "preempted by scheduler", "preempted by ", "has been preempted", "to spot interruption", "spot interruption payload", "going to be interrupted in ", "by the spot interruption", "unhealthy maintenance", "host maintenance event"),
	passes(transient("system", "LaunchFailed", RoleSuspect),
		"failedcreatepodsandbox", "create pod sandbox", "networkpluginnotready", "runtime network not ready", "multi-attach error", "volume is already used by pod",
		"slurmd could not", "slurm_script: no such file or directory", "communication connection failure", "communication shutdown failure", "message receive failure", "message send failure",
		"zero bytes were transmitted", "job credential expired", "prolog failed", "munge decode failed", "munge encode failed",
		"persistent connection init", "step creation temporarily disabled", "qsub: end of file", "message to qmaster", "communication error for \"",
		"can't get password entry", "send to mom '", "mom rejected/timeout", "workers failed to connect", "job reconnection failed", "can not reconnect to", "assumedly before job", "before writing exit_status", "interactive communicating job failed", "initialize the interactive session", "launch and connect to r worker", "lsf is down", "unable to reliably start one or more", "message to the specified daemon", "nanny failed to start", "worker failed to start", "no loop devices available", "find loop device", "communication time out", "failed to end classad message", "failed to open persistent connection"),
	passes(transient("system", "NoCapacity", RoleRoot), // nobody has such machines to give at the moment
		"insufficientinstancecapacity", "insufficienthostcapacity", "insufficientcapacity", "insufficient instance capacity", "insufficient-capacity", "unable to provision requested", "training plan capacity",
		"not have sufficient capacity", "resource_pool_exhausted", "resources available to fulfill the request", "no more capacity in the zone",
		"resources are insufficient in", "out of host capacity", "outofhostcapacity", "zonalallocationfailed", "allocation failed. we do not have", "overconstrainedallocation",
		"operationdenied.nostock", "is sold out", "have enough resource:", "fulfill launch request", "capacity for the requested",
		"not available for the requested instance"),
	passes(transient("system", "ServiceUnavailable", RoleRoot),
		// PostgreSQL and MySQL
		"terminating connection", "database system is ", "too many clients", "connection slots are reserved", "too many connections for", "too many connections'", "could not serialize access",
		"conflict with recovery", "in a read-only transaction", "ssl syscall error", "deadlock found when", "was deadlocked on lock", "server shutdown in progress", "max_user_connections", "locking protocol",
		// Redis, memcached, MongoDB
		"loading redis is", "busy redis is", "redis is loading the dataset", "clusterdown ", "masterdown ", "noreplicas ", "tryagain ", "max number of clients reached", "no master found for '",
		"no primary available", "not primary or secondary", "notwritableprimary", "node is recovering", "replica set members", "interrupted at shutdown", "writeconflict", "connection pool paused",
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
		"internal error occurred: failed", "internal error occurred for the current", "internal error encountered.", "internal error. please try again", "internal error on launch", "encountered an internal error", "send request failed",
		"unable to execute http request", "from the connection pool", "from the pool within", "over the account limit", "server not initialized yet", "operationtimedout", "within the specified time",
		": rate exceeded", "exceeds the rate limit", "exceeded the rate limit", "sharingviolation", "beingdeleted", "client closed request", "metadata service. status: 5",
		"services required to run matlab", "missing root element in response", "no healthy upstream", "server is shutting down", "upstream request timeout", "goaway", "too_many_pings", "enhance_your_calm", "could only be written to 0 of", "could only be replicated to 0",
		"all datanodes", "sparkcontext was shut down", "find coarsegrainedscheduler", "layer verification failed", "layer: unexpected eof", "image configuration: ",
		"error in the pull function", "timeout awaiting response headers", "hyper::error(incompletemessage)", "httptimeouterror", "kind: timeout"),
	passes(transient("system", ReasonPeerLost, RoleCascade),
		"connection reset", "forcibly closed by the remote", "aborted by the software in your host", "network name is no longer available", "keep-alive activity detecting",
		"received disconnect from", "corrupted mac on input", "message authentication code incorrect", "bad pack header", "batch request: eof",
		"returned nothing (no headers", "failure when receiving data from the peer", "failed sending data to the peer", "ssl connect error", "transferred a partial file",
		"keepalive watchdog", "client connection is closing", "bad record mac", "bad_record_mac", "after close notify", "receiving peer's close_notify", "record layer failure", "terminated the handshake",
		"bytes read on a total of", "unexpected eof while trying to read", "stream is closed", "filesystem closed", "owner has exited", "is dead or unavailable", "matched raylet address", "raylet client",
		"worker is dead", "worker lost", "failed to get broadcast_", "workers aborted during execution", "worker aborted during execution", "parallel pool that parfor was using has shut", "parallel pool that spmd was using has shut", "workers died while", "scheduler-restart", "missing heartbeat", "task incarnation", "tpu worker may have", "job has died",
		"mpi_err_revoked", "mpi_err_intern:", "lost_connection", "comm-failure", "local qp operation", "net/ofi request", "fabric access domain", "open an endpoint",
		"hccl_e_timeout", "hccl_e_network", "hccl_e_remote", "hccl_e_tcp", "hccl_e_roce", "aicore_timeout", "gloo/transport/tcp/pair.cc", "gloo/transport/tcp/tcp_store", "gloo/transport/tcp/unbound_buffer",
		"in the http/2 framing layer", "proxy connect aborted", "link has been severed", "stream reset by server", "returned syscall, errno"),
	passes(transient("system", ReasonPeerUnreachable, RoleSuspect),
		"actively refused", "did not properly respond", "encountered a dead network", "destination host was down", "network path was not found",
		"network location cannot be reached", "resolve proxy", "host resolution failure", "temporary error during hostname resolution", "maxstartups", "stdio forwarding failed",
		"machine is not on the network", "wait socket establish timeout", "wait links establish completed failed", "connect to any license server", "down or is not responsive"),
	passes(transient("system", "ChildKilled", RoleSuspect), "terminated abruptly", "was unexpectedly terminated", "exit code is 137", "container killed on request"),
	passes(transient("system", "GPULost", RoleRoot), "nvml: irq issue", "nvml: in use by another", "nvml: insufficient resources"),
	passes(transient("system", "AddressInUse", RoleRoot), "only one usage of each socket address", "port is already allocated"),
	passes(transient("system", "ResourceBusy", RoleRoot), "no buffer space available", "can't start new thread", "interrupted system call", "too many open files in system", "resource deadlock", "insufficient system resources", "lacked sufficient buffer space"),
	passes(transient("system", "Timeout", RoleSuspect), "semaphore timeout period", "timer expired"),
	passes(transient("system", "InputOutputError", RoleRoot), "structure needs cleaning", "state not recoverable", "owner died", "communication error on send",
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
	if h.any(saysSession) && sessionPattern().Match(message) {
		return transient("system", ReasonPeerLost, RoleCascade)
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

// A server that was started again no longer knows who had asked it before: the worker of a TPU, or of TensorFlow.
var (
	saysSession    = phrases.list(" is not found")
	sessionPattern = lazy(`\b[Ss]ession [0-9a-f]{3,} is not found`)
)
