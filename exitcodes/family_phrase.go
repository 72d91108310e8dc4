package exitcodes

import "bytes"

// What messages say in words.
var (
	peerLostWords = []string{"failed the maximum allowable number of times", "end of file exception between local host", "client is being closed", "stream removed", "econnreset", "closed the connection", "peer closed", "lost connection", "connection broken",
		"connection terminated", "aborted: session ", "unexpectedly closed", "broken pipe", "connection aborted", "software caused connection abort",
		"connection closed by", "closed by remote host", "use of closed network connection", `": eof`, "connection already closed", "connection has been closed", "connection has closed", "connection is shut down", "connection was shut down", "endpoint is closed or does not exist", "retry counter exceeded", "got completion with error: ", "recvall failed", "sendall failed", "rpc::rpc_error during call", "connection lost",
		"connection reset by", "connection was reset", "connection was closed", "connection was lost", "connection to remote host was lost", "connection corrupted",
		"recv, got 0 bytes", "socket recv error", "socket send error", "network dropped connection", "communication error with rank",
		"remote end closed", "remote end hung up", "unexpected disconnect", "early eof", "unexpected eof while reading", "empty reply from server", "eof occurred in violation of protocol", "server disconnected",
		"transfer closed with", "not closed cleanly", "non-properly terminated", "ssl_error_syscall", "http2 framing layer", "send failure: ", "recv failure: ",
		"error decoding response body", "session not active", "protocol banner",
		"client has been closed", "backing channel", "rpc channel is closed", "sufficient followers synced", "connectionloss", "eof detected", "got select error", "got send error", "got read error", "broker transport failure", "workers died while running it", "request error for ", "transmission has been stuck", "forcibly closed",
		"closed prematurely", "prematurely closed", "recv: peer shutdown", "not enough data for satisfy", "not enough data to satisfy",
		"socket closed", "socket disconnected", "horovod has been shut down", "resetwithoutclosinghandshake", "reset without closing handshake", "kind: connectionreset", "kind: connectionaborted", "kind: brokenpipe", "kind: notconnected", "incompletemessage", "incompletebody", "fetchfailedexception", "server has gone away"}
	unreachableWords = []string{"failed on connection exception", "temporary failure resolving", "was refused - did you", "socket connect error", "getaddrinfo enotfound", "econnrefused", "etimedout", "ehostunreach", "enetunreach", "eai_again", "nslookup: can't resolve", "name does not resolve", "unreachable", "connection failed for ", "connection failed: ", "hdfs connection failed", "trying to connect to", "unable to find the server at", "launch error on ", "connection not found while",
		"grpc error", "rpc error", "connect timeout", "slicebuilder", "failed to resolve", "getaddrinfo failed", "unable to resolve host", "unable to contact",
		"could not resolve host", "couldn't resolve host", "failed to lookup address", "cannot connect to", "check your connection",
		"check your network", "connection error", "error communicating with", "connection refused", "connection timed out",
		"could not connect to", "couldn't connect to", "failed to connect to",
		"failed to establish a new connection", "host is down", "host is unreachable", "internet connection", "network is down",
		"due to network issue", "name or service not known", "network is unreachable", "no route to host",
		"temporary failure in name resolution", "unable to connect to", "connecting to rank ", "connect to tracker failed", "failed connecting to", "error connecting to", "establish connection to", "establish connection with", "establish a connection to", "establish a connection with", "establish a secure connection", "connection could not be established", "can't connect to", "not responding", "did not respond", "server misbehaving", "no such host", "couldn't reach http", "couldn't reach server", "could not reach server", "not reachable", "distant resource does not seem to be on", "brokers are down",
		"kind: connectionrefused", "kind: hostunreachable", "kind: networkunreachable", "network error (connect", "network error (read", "network error (http", "network error (time", "network error occurred", "a network error", "network connectivity",
		"host name lookup failure", "srv lookup failed", "dns resolution failed", "slurm_persist_conn_open", "dns lookup failed", "name resolution failed", "unresponsive"}
	fileServerWords = []string{"i/o error", "cannot read file data", "input/output error", "remote i/o error", "could not obtain block", "blockmissingexception",
		"corrupted on transfer", "stale file handle", "stale nfs file handle", "transport endpoint is not connected", "transport endpoint shutdown"}
	inUseWords = []string{"cannot find empty port", "find a free port", "find a free tcp port", "no free port", "address already in use", "is in use by another program", "!= (-1) bind failed"}
	busyWords  = []string{"server returned 5xx", "toomanyrequests", "too many requests", "service unavailable", "serviceunavailable", "bad gateway", "gateway time", "internal server error",
		"server is busy", "temporarily unable", "temporarily unavailable", "store unavailable", "backend unavailable", "database is locked", "rate limit exceeded",
		"status code 429", "status code 50", "try again later", "try later", "try accessing the file again later",
		"unable to handle the request", "unable to return a response", "standbyexception", "no locks available", "device or resource busy", "text file busy",
		"nodes are busy", "neuroncore(s) not available", "neuron core(s) not available", "already completing or completed", "could not get lock", "unable to acquire lock", "could not acquire lock", "failed to acquire lock", "deadlock detected", "table is locked", "can't open hfi unit", "too many users have viewed",
		"overloaded_error", "server is overloaded", "is currently overloaded", "server overloaded", "too many clients", "too many connections",
		"connection slots are reserved", "deadlock found", "try restarting transaction", "loading the dataset in memory", "interrupted at shutdown",
		"please retry in ", "please retry later", "please retry after", "please retry your request", "please retry downloading", "please retry loading",
		"lsf is down", "hash sum mismatch", "expected content and downloaded content", "too old resource version", "unable to provision requested",
		"step creation temporarily disabled", "in state standby", "read only replica", "fork: retry", "fork: cannot allocate memory", "unable to allocate necessary resources", "there is currently a lease on the", "unable to create new native thread", "unable to create native thread"}

	saysPeerLost    = phrases.list(append([]string{"connection closed"}, peerLostWords...)...) // as some say that are done, too
	saysUnreachable = phrases.list(unreachableWords...)
	saysFileServer  = phrases.list(fileServerWords...)
	saysDeadCode    = phrases.list("unreachable code", "unreachable branch") // that no program should come to
	saysInUse       = phrases.list(inUseWords...)
	saysEndOfFile   = phrases.list("unexpected eof")
	saysTaken       = phrases.list("already in use", "is occupied", "occupied by", "is in use by")
	saysAllreduce   = phrases.list("allreduce failed")
	saysTimeout     = phrases.list(append([]string{"ran for more than set timeout", "deadline_exceeded", "read timeout", "timeout in data",
		"connection timeout", "heartbeat timeout", "time-out of ", "time-out after ", "time-out while ", "request timeout", "statement timeout", "lock timeout", "rpc timeout", "network timeout",
		"operation timeout", "collective timeout", "recv timeout", "send timeout", "error: timeout (", "barrier timeout", "rendezvous timeout", "session timeout", "response timeout", "waited too long", "took too long", "requesttimeout",
		"socket timeout", "timed out", "timeout after", "timeout exceeded", "not ready in ", "not ready after ", "not ready within ", "become ready in ", "become ready after ", "become ready within ", "timeout expired", "timeout waiting",
		"timeout was reached", "timeout while", "wait timeout", "i/o timeout", "too slow. less than"}, passingTimeouts...)...)
	saysBusy = phrases.list(append([]string{"giving up after", "is currently loading", "will be automatically retried", "in safe mode", "temporarily_unavailable", "request_limit_exceeded", "retries failed", "attempts failed", "all attempts",
		"retry limit", "exceeded maximum retries", "exceeded retries", "internal_error", "quota exceeded for quota metric",
		"backend error", "backenderror", "too many retries", "an error occurred while downloading using", "encountered an internal error",
		"max retries exceeded", "maximum number of retries", "download incomplete", "checksum mismatch while downloading", "did not match calculated checksum",
		"please reduce your request rate", "rate limit", "retries exhausted", "server unavailable", "slow down"}, busyWords...)...)
	saysDownload = phrases.list("failed to download", "failed downloading", "error downloading", "error while downloading", "download failed", "downloading failed", "download error", "could not download", "couldn't download",
		"unable to download", "failed to fetch")
	saysAbsent    = phrases.list("not found", "404", "401", "403", "unauthorized", "forbidden", "denied", "no such", "does not exist", "doesn't exist", "invalid", "credential", "gated", "space left", "[0] ", " 0 ")
	saysFetched   = phrases.list("download")
	saysHash      = phrases.list("checksum", "sha256", "md5", "hash value")
	saysCurl      = phrases.list("curl: (", "rpc failed; curl ", "curl returned error code ")
	saysTries     = phrases.list("attempts", "retries", " tries", "after ")
	saysChildGone = phrases.list("killed due to memory pressure", "no longer alive", "executorlostfailure", "container killed by yarn", "abruptly", "died unexpectedly", "exited unexpectedly", "stopped unexpectedly", "communicator has exited", "communicator has stopped", "exit unexpectedly",
		"has died", "heartbeat timed out", "heartbeat failed", "heartbeat failure", "heartbeat expired", "heartbeat lost", "heartbeats from", "heartbeat from", "missed heartbeat", "missed a heartbeat", "missing heartbeat", "missing a heartbeat", "no heartbeat", "lost heartbeat", "send heartbeat", "send a heartbeat", "sending heartbeat", "keep-alive heartbeat", "stopped heartbeating", "stopped sending heartbeats", "miss too many heartbeats", "missed too many heartbeats", "receive heartbeat", "received heartbeat", "heartbeat request", "failed to heartbeat", "heartbeat to ", "heartbeat timer", "did not heartbeat", "heartbeat response", "lost communication", "lost contact with", "unexpectedly died", "worker died")
	saysNoResources = phrases.list("interrupted system call", "can't start new thread", "resource temporarily unavailable", "too many open files in system")
	passingTimeouts = []string{"handshake timeout", "deadline exceeded"}
	// nvidia-smi and whatever asks the driver for its GPUs.
	driverGoneWords = []string{"failed to initialize nvml: unknown error", "failed to initialize nvml: driver", "failed to initialize nvml: gpu access blocked",
		"couldn't communicate with the nvidia driver", "no devices were found", "nvml error: driver not loaded", "nvml error: driver/library version mismatch",
		"nvml error: unknown error", "nvml error: gpu is lost", "driver rpc error", "driver error: failed to process request"}
	saysDriverGone = phrases.list(driverGoneWords...)
	saysNVML       = phrases.list("nvml")
	saysNVMLGone   = phrases.list("driver not loaded", "version mismatch", "unknown error", "gpu is lost", "requires reset")
)

// curlPattern has the numbers by which curl tells of a name, a connection or a transfer that failed; pycurl has them alone.
var curlPattern = lazy(`(?:curl:? \(?|[Cc]url returned error code |^\()(?:5|6|7|16|18|28|35|52|55|56|92|95)\b`)

func curlFamily(message []byte) family {
	if curlPattern().Match(message) {
		return transient("phrase", ReasonPeerUnreachable, RoleSuspect)
	}
	return family{}
}

// endsShort reports whether that is all that is said, or how it ends after what was fetched: so programs in Go tell of a body that is
// shorter than it should be. Of a file, and of source, others say more.
func endsShort(message []byte) bool {
	rest, found := bytes.CutSuffix(bytes.ToLower(bytes.TrimSpace(message)), []byte("unexpected eof"))
	rest = bytes.TrimSpace(rest)
	return found && (len(rest) == 0 || bytes.Equal(rest, []byte("error:")) || bytes.HasSuffix(rest, []byte(":")) && bytes.Contains(rest, []byte("http")))
}

var portPattern = lazy(`(?i)\bport\W{1,3}\d+\b`)

var triesPattern = lazy(`(?i)\bafter \d+ (?:\w+ )?(?:attempts|retries|tries)\b|\bafter waiting (?:for )?\d|\b(?:fail\w*|could not|unable|cannot)\b.{1,100}\bafter \d[\d.]* ?(?:s|secs?|seconds|ms|min|minutes)\b|\b(?:attempts|retries|tries) (?:were |was )?(?:exhausted|exceeded|failed|reached)`)

// phraseFamily reads what a message says, of classes that say nothing by themselves. Of the program's own errors only
// words count that nothing else is called by.
func phraseFamily(_, name string, message []byte, h heard) family {
	switch {
	case h.any(saysPeerLost):
		return transient("phrase", ReasonPeerLost, RoleCascade)
	case h.any(saysUnreachable) && !h.any(saysDeadCode):
		return transient("phrase", ReasonPeerUnreachable, RoleSuspect)
	case h.any(saysFileServer):
		return transient("phrase", "InputOutputError", RoleRoot)
	case h.any(saysInUse) || h.any(saysTaken) && portPattern().Match(message):
		return transient("phrase", "AddressInUse", RoleRoot)
	case h.any(saysDriverGone), h.any(saysNVML) && h.any(saysNVMLGone):
		return transient("phrase", "GPULost", RoleRoot)
	case h.any(saysAllreduce):
		return transient("phrase", "CollectiveFailed", RoleSuspect)
	}
	if ownErrors[name] {
		return family{}
	}
	switch {
	case h.any(saysEndOfFile) && endsShort(message):
		return transient("phrase", ReasonPeerLost, RoleSuspect)
	case h.any(saysTimeout) || bytes.EqualFold(bytes.Trim(message, " .!\n"), []byte("timeout")):
		return transient("phrase", "Timeout", RoleSuspect)
	case h.any(saysBusy):
		return transient("phrase", "ServiceUnavailable", RoleRoot)
	case h.any(saysDownload) && !h.any(saysAbsent) || h.any(saysFetched) && h.any(saysHash):
		return transient("phrase", "ServiceUnavailable", RoleSuspect)
	case h.any(saysCurl) && curlFamily(message).known():
		return curlFamily(message)
	case h.any(saysTries) && triesPattern().Match(message):
		return transient("phrase", "ServiceUnavailable", RoleSuspect)
	case h.any(saysChildGone):
		return transient("phrase", "ChildKilled", RoleCascade)
	case h.any(saysNoResources):
		return transient("phrase", "ResourceBusy", RoleRoot)
	}
	return family{}
}
