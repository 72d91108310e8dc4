package exitcodes

import (
	"bytes"
	"strings"
)

// What services say about who asks, and what for.
var (
	saysCertificate = phrases.list("certificate verify failed", "certificate_verify_failed", "wrong_version_number")
	saysLogin       = phrases.list("password authentication failed", "access denied for user",
		"invalid username or password", "invalid password", "wrongpass ", "noauth authentication required", "permission denied while trying to connect", "permission denied when trying to connect")
	saysDatabaseMisuse = phrases.list("no such table", "no such column", "syntax error", "does not exist",
		"unknown database", "unknown column", "values were supplied", "has no column named", "readonly database",
		"unable to open database file", "no pg_hba.conf entry", "no password supplied")
)

// classFamily goes by the name of the class alone.
func classFamily(class, name string, message []byte, h heard) family {
	if h.any(saysCertificate) {
		return deterministic("class", "CertificateRefused")
	}
	if h.any(saysLogin) {
		return deterministic("class", "RequestRefused")
	}
	if name == "OperationalError" && h.any(saysDatabaseMisuse) {
		return deterministic("class", "RequestRefused")
	}
	switch name {
	case "ConnectionResetError", "BrokenPipeError", "ConnectionAbortedError", "RemoteDisconnected", "ServerDisconnectedError",
		"ClientOSError", "ClientPayloadError", "ChunkedEncodingError", "IncompleteRead", "ProtocolError", "RemoteProtocolError",
		"ConnectionClosedError", "ConnectionClosed", "DistNetworkError", "HorovodInternalError", "IncompleteReadError", "ReadError", "WriteError",
		"AutoReconnect", "SSLEOFError", "SSLZeroReturnError", "IncompleteBody", "ResponseStreamingError", "HTTPClientError",
		"BadStatusLine", "TTransportException", "SSLWantReadError", "SSLWantWriteError", "EndOfStream", "BrokenResourceError", "ClosedResourceError", "SockClientClosedError",
		"TransferEncodingError", "ContentLengthError", "ClientConnectionResetError":
		return transient("class", ReasonPeerLost, RoleCascade)
	case "NVMLError_Unknown", "NVMLError_GpuIsLost", "NVMLError_DriverNotLoaded", "NVMLError_LibRmVersionMismatch", "NVMLError_ResetRequired",
		"NVMLError_IrqIssue", "NVMLError_OperatingSystem": // the container has lost its devices, or the machine its driver
		return transient("class", "GPULost", RoleRoot)
	case "CancelledError": // who waits for something is stopped for its time, or for another's failure
		return transient("class", "Timeout", RoleCascade)
	case "DistStoreError":
		return transient("class", "StoreUnreachable", RoleSuspect)
	case "BrokenProcessPool", "TerminatedWorkerError", "KilledWorker", "BrokenExecutor", "BrokenThreadPool", "WorkerLostError", "ProcessExpired":
		return transient("class", "ChildKilled", RoleSuspect)
	case "ProcessExitedException": // Julia's; torch's says how it ended
		if len(bytes.TrimSpace(message)) == 0 {
			return transient("class", "ChildKilled", RoleSuspect)
		}
	case "WorkerCrashedError", "ActorDiedError", "RayActorError", "ActorUnavailableError", "NodeDiedError", "ObjectLostError", "OwnerDiedError",
		"ObjectFetchTimedOutError", "ReferenceCountingAssertionError", "RaySystemError", "LocalRayletDiedError", "ObjectReconstructionFailedError":
		return transient("class", ReasonPeerLost, RoleCascade)
	case "gaierror", "herror", "NameResolutionError", "ServerNotFoundError":
		return transient("class", "NameResolution", RoleSuspect)
	case "HttpError", "HTTPError", "HttpResponseError", "ClientResponseError", "RequestException", "HTTPException":
		if len(bytes.TrimSpace(message)) == 0 { // it came without an answer, else it had a status
			return transient("class", "ServiceUnavailable", RoleSuspect)
		}
	case "SessionExpiredError": // ZooKeeper's, which is no login
		if strings.HasPrefix(class, "kazoo.") {
			return transient("class", ReasonPeerLost, RoleCascade)
		}
	case "InterfaceError": // of MySQL's client, which has no connection left to ask what was wrong
		if bytes.HasPrefix(message, []byte("(0, ''")) {
			return transient("class", ReasonPeerLost, RoleCascade)
		}
	case "FileNotFoundError": // without an errno: a library's own
		return deterministic("class", "FileNotFound").afterProgress()
	case "RetryError": // of tenacity, which names what was raised, or of a cloud's client
		if m := raisedPattern().FindSubmatch(message); m != nil {
			return familyOf(string(m[1]), nil)
		}
		return transient("class", "ServiceUnavailable", RoleSuspect)
	case "MaxRetryError", "SSLError", "ProxyError", "CommError", "InternalServerError", "ServerError", "ServiceRequestError",
		"ServiceResponseError", "NoBrokersAvailable", "OperationalError", "TransportError":
		return transient("class", "ServiceUnavailable", RoleSuspect)
	}
	whole := name
	name = strings.TrimSuffix(strings.TrimSuffix(name, "Exception"), "Error") // what is left names the condition
	switch {
	case name == "timeout" || strings.Contains(name, "Timeout") || strings.HasSuffix(name, "TimedOut") || strings.HasSuffix(name, "DeadlineExceeded"):
		return transient("class", "Timeout", RoleSuspect)
	case strings.HasSuffix(name, "Connection") || strings.HasSuffix(name, "Connect") || strings.HasSuffix(name, "Connector") || strings.HasSuffix(name, "Network") || strings.HasSuffix(whole, "HostException") ||
		strings.Contains(name, "ConnectionFail") || strings.Contains(name, "CannotConnect") || strings.Contains(name, "FailedToConnect") ||
		strings.HasSuffix(name, "ConnectionRefused") || strings.HasSuffix(name, "Unreachable"):
		return transient("class", ReasonPeerUnreachable, RoleSuspect)
	case strings.Contains(name, "Unavailable") || strings.Contains(name, "Throttl") || strings.Contains(name, "Deadlock") ||
		strings.HasSuffix(name, "SerializationFailure") || strings.HasSuffix(name, "NotReady") || strings.HasSuffix(name, "NotPrimary") || strings.HasSuffix(name, "TryAgain") ||
		strings.HasSuffix(name, "ClusterDown") || strings.HasSuffix(name, "MasterDown") || strings.HasSuffix(name, "BusyLoading") || strings.HasSuffix(name, "AdminShutdown") ||
		strings.Contains(name, "LeaderElection") || strings.Contains(name, "TooManyConnection") || strings.HasSuffix(name, "Capacity") || strings.HasSuffix(name, "Overloaded") || strings.HasSuffix(name, "NoHttpResponse") || strings.HasSuffix(name, "RetriesExhausted") || strings.HasSuffix(name, "InterruptedIO") ||
		strings.HasSuffix(name, "LeaseExpired") || strings.HasSuffix(name, "AlreadyBeingCreated") || strings.HasSuffix(name, "RecoveryInProgress") || strings.HasSuffix(name, "NotAvailable") && strings.HasPrefix(class, "org.apache.") || strings.HasPrefix(name, "NotLeader") || strings.HasSuffix(name, "Standby") || strings.HasSuffix(name, "TooManyRequests") || strings.HasSuffix(name, "RateLimit"):
		return transient("class", "ServiceUnavailable", RoleRoot)
	case strings.Contains(name, "Disconnected") || strings.HasSuffix(name, "ConnectionLost") || strings.HasSuffix(name, "ConnectionLoss") ||
		strings.Contains(name, "ConnectionClosed") || name == "Socket" ||
		strings.HasSuffix(name, "CommClosed") || strings.HasSuffix(name, "StreamClosed") || strings.HasSuffix(name, "ClosedChannel") || strings.HasPrefix(name, "ObjectReconstructionFailed") || name == "RayChannel" || name == "Disconnect" || strings.HasSuffix(name, "ChannelClosed"):
		return transient("class", ReasonPeerLost, RoleCascade)
	}
	return family{}
}

var raisedPattern = lazy(`state=finished raised (\w+)>`)
