package exitcodes

// What messages say in words.
var (
	saysPeerLost = phrases.list("stream removed", "econnreset", "closed the connection", "peer closed", "lost connection", "connection broken",
		"connection terminated", "unexpectedly closed", "broken pipe", "connection aborted",
		"connection closed by peer", "connection closed by remote", "connection has been closed", "connection lost",
		"connection reset by peer", "connection was closed", "connection was lost", "recv, got 0 bytes", "socket recv error", "socket send error",
		"remote end closed", "socket closed", "horovod has been shut down", "incompletebody", "fetchfailedexception")
	saysUnreachable = phrases.list("temporary failure resolving", "was refused - did you", "getaddrinfo enotfound", "econnrefused", "etimedout", "ehostunreach", "enetunreach", "eai_again", "unreachable", "connection failed for url", "trying to connect to", "unable to find the server at",
		"grpc error", "rpc error", "connect timeout", "failed to resolve", "getaddrinfo failed",
		"could not resolve host", "failed to lookup address", "cannot connect to", "check your connection",
		"check your network", "connection error, and we cannot find", "connection refused", "connection timed out",
		"could not connect to", "couldn't connect to", "failed to connect to",
		"failed to establish a new connection", "host is down", "host is unreachable", "internet connection",
		"due to network issue", "name or service not known", "network is unreachable", "no route to host",
		"temporary failure in name resolution", "unable to connect to")
	saysFileServer = phrases.list("cannot read file data", "input/output error", "remote i/o error",
		"stale file handle", "transport endpoint is not connected")
	saysInUse     = phrases.list("address already in use")
	saysAllreduce = phrases.list("allreduce failed")
	saysTimeout   = phrases.list("ran for more than set timeout", "deadline exceeded", "read timeout",
		"socket timeout", "timed out", "timeout after", "timeout exceeded", "timeout expired", "timeout waiting",
		"timeout was reached", "timeout while", "wait timeout", "i/o timeout")
	saysBusy = phrases.list("giving up after", "in safe mode", "temporarily_unavailable", "request_limit_exceeded", "toomanyrequests", "retries failed", "attempts failed", "all attempts",
		"retry limit", "exceeded maximum retries", "exceeded retries", "bad gateway", "gateway time",
		"backend error", "an error occurred while downloading using", "encountered an internal error",
		"internal server error", "max retries exceeded", "maximum number of retries",
		"please reduce your request rate", "rate limit", "retries exhausted", "server is busy",
		"server unavailable", "service unavailable", "slow down", "temporarily unavailable", "too many requests",
		"try again later")
	saysTries     = phrases.list("attempts", "retries", " tries")
	saysChildGone = phrases.list("killed due to memory pressure", "no longer alive", "executorlostfailure", "container killed by yarn", "abruptly", "died unexpectedly", "exited unexpectedly", "exit unexpectedly",
		"has died", "heartbeat", "lost communication", "unexpectedly died", "worker died")
	saysNoResources = phrases.list("interrupted system call", "can't start new thread", "resource temporarily unavailable")
)

var triesPattern = lazy(`(?i)\bafter \d+ (?:\w+ )?(?:attempts|retries|tries)\b|\b(?:attempts|retries|tries) (?:were |was )?(?:exhausted|exceeded|failed)`)

// phraseFamily reads what a message says, of classes that say nothing by themselves. Of the program's own errors only
// words count that nothing else is called by.
func phraseFamily(_, name string, message []byte, h heard) family {
	switch {
	case h.any(saysPeerLost):
		return transient("phrase", ReasonPeerLost, RoleCascade)
	case h.any(saysUnreachable):
		return transient("phrase", ReasonPeerUnreachable, RoleSuspect)
	case h.any(saysFileServer):
		return transient("phrase", "InputOutputError", RoleRoot)
	case h.any(saysInUse):
		return transient("phrase", "AddressInUse", RoleRoot)
	case h.any(saysAllreduce):
		return transient("phrase", "CollectiveFailed", RoleSuspect)
	}
	if ownErrors[name] {
		return family{}
	}
	switch {
	case h.any(saysTimeout):
		return transient("phrase", "Timeout", RoleSuspect)
	case h.any(saysBusy):
		return transient("phrase", "ServiceUnavailable", RoleRoot)
	case h.any(saysTries) && triesPattern().Match(message):
		return transient("phrase", "ServiceUnavailable", RoleSuspect)
	case h.any(saysChildGone):
		return transient("phrase", "ChildKilled", RoleCascade)
	case h.any(saysNoResources):
		return transient("phrase", "ResourceBusy", RoleRoot)
	}
	return family{}
}
