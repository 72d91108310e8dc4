package exitcodes

import (
	"bytes"
	"strconv"
	"strings"
)

// A family judges an exception that no rule knows by what kind it is: the errno, the HTTP or gRPC status, the code of a
// cloud's API, the signal that killed a child, the class. Libraries raise thousands of exceptions, but they name the
// same few conditions.
type family struct {
	name    string // shown where a rule's name is: "family.errno"
	verdict Verdict
	role    Role
	reason  string
	after   Verdict // once the round has made a step
	signal  int     // for preempted
}

// afterProgress makes a condition worth a retry once the round has made a step: what was there cannot be missing.
func (f family) afterProgress() family {
	f.after = Retry
	return f
}

func (f family) known() bool { return f.name != "" }

func transient(name, reason string, role Role) family {
	return family{name: "family." + name, verdict: Retry, role: role, reason: reason}
}

func deterministic(name, reason string) family {
	return family{name: "family." + name, verdict: Fatal, role: RoleRoot, reason: reason}
}

// rule is the family in the shape of a rule, for a Match.
func (f family) rule() Rule {
	return Rule{Name: f.name, Role: f.role, Verdict: f.verdict, AfterProgress: f.after, Reason: f.reason, signal: f.signal}
}

// familyOf judges an exception: its class, as printed, and its message.
func familyOf(class string, message []byte) family {
	name := class[strings.LastIndexByte(class, '.')+1:]
	if f := interrupted(name); f.known() {
		return f
	}
	if isLogicError(name) {
		return family{} // a bug, whatever text it quotes; the base rule says fatal
	}
	message = message[:min(len(message), maxMessageText)]
	lower := bytes.ToLower(message)
	if ownErrors[name] {
		lower = unquoted(lower) // what the input held
	}
	h := phrases.in(lower)
	for _, judge := range []func(string, string, []byte, heard) family{
		serviceCode, childKilled, httpStatus, rpcStatus, errnoFamily, deviceFamily, collectiveFamily, classFamily, phraseFamily,
	} {
		if f := judge(class, name, message, h); f.known() {
			return f
		}
	}
	return family{}
}

// unquoted is a text without what stands in quotes in it. An apostrophe within a word is none.
func unquoted(text []byte) []byte {
	word := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] >= 'a' && text[i] <= 'z' || text[i] >= '0' && text[i] <= '9')
	}
	out, open := make([]byte, 0, len(text)), byte(0)
	for i, c := range text {
		switch {
		case open == 0 && (c == '\'' || c == '"') && !word(i-1):
			open = c
		case c == open && !word(i+1):
			open = 0
		case open == 0:
			out = append(out, c)
		}
	}
	return out
}

const (
	maxMessageText = 1536 // bytes of a message that are read
	familyPasses   = 8    // over them: to lower case, the phrases, and at most six expressions
)

// phrases are what messages say about conditions, in the order of the families that look for them.
var (
	phrases = newVocabulary()

	saysTries = phrases.list("attempts", "retries", " tries")

	saysCode             = phrases.list("<code>", "an error occurred (", "aws error ", "code:")
	saysErrno            = phrases.list("os { code", "error, code: ", "(1", "(3", "(5", "(7", "(os error", "name: e", "rrno")
	saysDevice           = phrases.list("nvml", "cublas", "cuda", "cudaerror", "cudnn", "cufft", "cusolver", "cusparse", "hip", "miopen", "rocm")
	saysDeviceError      = phrases.list("nvml_success", "cuda unknown error", "nvml error", "hsa_status", "_status_", "cuda driver error", "cuda error", "cuda runtime error", "cuda_error_", "cudaerror", "cudnn error", "cufft_", "cusparse", "error 8", "hip error", "hiperror", "miopenstatus")
	saysMemory           = phrases.list("alloc_failed", "out of memory")
	saysDeviceMisuse     = phrases.list("arch_mismatch", "bad_param", "device-side assert", "insufficient for", "invalid argument", "invalid configuration", "invalid device", "invalid device function", "invalid pitch", "invalid value", "invalid_argument", "invalid_value", "license_error", "mapping of buffer", "no kernel image", "not supported", "not_supported", "ptx", "resource handle", "symbol", "too many resources", "unsupported")
	saysCollective       = phrases.list("gloo", "hccl error", "hccl function", "hcclcomm", "hccl api", "mpi_", "nccl", "ncclinternal", "ncclremote", "ncclsystem", "ncclunhandled", "oneccl", "rccl", "ucx")
	saysCollectiveMisuse = phrases.list("invalid argument", "invalid usage", "must be", "ncclinvalid", "no support", "not available", "not built", "requires at least", "unsupported")
	saysFailure          = phrases.list("abort", "closed", "error", "fail", "reset", "timed out", "timeout", "watchdog")
	saysCertificate      = phrases.list("certificate verify failed", "certificate_verify_failed")
	saysLogin            = phrases.list("password authentication failed", "access denied for user", "invalid username or password", "invalid password", "wrongpass ", "noauth authentication required")
	saysDatabaseMisuse   = phrases.list("no such table", "no such column", "syntax error", "does not exist", "unknown database", "unknown column")
	saysPeerLost         = phrases.list("stream removed", "peer closed", "lost connection", "connection broken", "connection terminated", "unexpectedly closed", "broken pipe", "connection aborted", "connection closed by peer", "connection closed by remote", "connection has been closed", "connection lost", "connection reset by peer", "connection was closed", "connection was lost", "recv, got 0 bytes", "remote end closed", "socket closed")
	saysUnreachable      = phrases.list("unreachable", "trying to connect to", "unable to find the server at", "grpc error", "rpc error", "connect timeout", "failed to resolve", "getaddrinfo failed", "could not resolve host", "failed to lookup address", "cannot connect to", "check your connection", "check your network", "connection error, and we cannot find", "connection refused", "connection timed out", "could not connect to", "couldn't connect to", "failed to connect to", "failed to establish a new connection", "host is down", "host is unreachable", "internet connection", "due to network issue", "name or service not known", "network is unreachable", "no route to host", "temporary failure in name resolution", "unable to connect to")
	saysFileServer       = phrases.list("cannot read file data", "input/output error", "remote i/o error", "stale file handle", "transport endpoint is not connected")
	saysTimeout          = phrases.list("ran for more than set timeout", "deadline exceeded", "read timeout", "socket timeout", "timed out", "timeout after", "timeout exceeded", "timeout expired", "timeout waiting", "timeout was reached", "timeout while", "wait timeout")
	saysBusy             = phrases.list("giving up after", "retries failed", "attempts failed", "all attempts", "retry limit", "exceeded maximum retries", "exceeded retries", "bad gateway", "gateway time", "backend error", "an error occurred while downloading using", "encountered an internal error", "internal server error", "max retries exceeded", "maximum number of retries", "please reduce your request rate", "rate limit", "retries exhausted", "server is busy", "server unavailable", "service unavailable", "slow down", "temporarily unavailable", "too many requests", "try again later")
	saysChildGone        = phrases.list("no longer alive", "abruptly", "died unexpectedly", "exited unexpectedly", "has died", "heartbeat", "lost communication", "unexpectedly died", "worker died")
	saysNoResources      = phrases.list("can't start new thread", "resource temporarily unavailable")
	saysSignal           = phrases.list("= -", "code -", "code: -", "ignal", "sig", "status -")
)

// interrupted is the answer to a signal from outside that Python turned into an exception.
func interrupted(name string) family {
	f := family{name: "family.interrupt", verdict: Preempted, role: RoleRoot, reason: ReasonPreempted}
	switch name {
	case "KeyboardInterrupt":
		f.signal = sigint
	case "SIGTERMException", "SigTermException", "SigtermException":
		f.signal = sigterm
	default:
		return family{}
	}
	return f
}

// logicErrors are raised by what a program does wrong itself. What they quote explains nothing.
var logicErrors = set("TypeError", "NameError", "UnboundLocalError", "SyntaxError", "IndentationError", "TabError",
	"AttributeError", "IndexError", "KeyError", "ZeroDivisionError", "NotImplementedError", "RecursionError",
	"AssertionError", "UnicodeDecodeError", "UnicodeEncodeError", "StopIteration", "ModuleNotFoundError",
	"JSONDecodeError", "ValidationError", "ArgumentError", "FrozenInstanceError", "MissingSchema", "InvalidSchema", "InvalidURL")

// ownErrors are mostly raised by a program about its own input. Only a message that names the condition plainly tells
// that it is something else.
var ownErrors = set("ValueError", "LookupError", "ArithmeticError", "OverflowError", "FloatingPointError", "SystemExit")

// programs reports whether the class speaks about the program itself, so that other lines do not explain it.
func programs(class string) bool {
	name := class[strings.LastIndexByte(class, '.')+1:]
	return isLogicError(name) || ownErrors[name]
}

// isLogicError reports whether the name is one of logicErrors, or a warning that was made an error.
func isLogicError(name string) bool { return logicErrors[name] || strings.HasSuffix(name, "Warning") }

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

var serviceCodePattern = lazy(`An error occurred \(([A-Za-z0-9.]+)\) when calling|AWS Error ([A-Z_]+)|<Code>([A-Za-z]+)</Code>|ErrorCode: ?([A-Za-z]+)|Code: ?"?([A-Z][A-Za-z]+)`)

// serviceCode reads the code of a cloud's API, which says more than the errno that a file system makes of it.
func serviceCode(_, _ string, message []byte, h heard) family {
	if !h.any(saysCode) {
		return family{}
	}
	m := serviceCodePattern().FindSubmatch(message)
	if m == nil {
		return family{}
	}
	code := strings.ToLower(string(bytes.Join(m[1:], nil)))
	if n, err := strconv.Atoi(code); err == nil {
		return status(n)
	}
	for _, w := range []string{"slowdown", "throttl", "timeout", "toomany", "limitexceeded", "throughputexceeded", "unavailable",
		"internalerror", "internalfailure", "serverbusy", "networkconnection", "network_connection", "connection", "slow_down",
		"internal_failure", "service_unavailable", "request_timeout", "priorrequestnotcomplete", "operationaborted", "quotaexceededpersecond"} {
		if strings.Contains(code, w) {
			return transient("service", "ServiceUnavailable", RoleRoot)
		}
	}
	for _, w := range []string{"denied", "nosuch", "notfound", "invalid", "signature", "expired", "unauthor", "forbidden", "malformed", "missing", "authentication"} {
		if strings.Contains(code, w) {
			return deterministic("service", "RequestRefused")
		}
	}
	return family{}
}

var statusPattern = lazy(`(?i)\b([45]\d\d) (?:Server|Client) Error\b|(?:Server|Client) error '([45]\d\d)\b|HTTP Error ([45]\d\d)\b|(?:HTTP/[\d.]+|HTTP|status(?:[ _]?code)?|response(?: code)?|error code)[ :=]{1,3}['"]?([45]\d\d)\b|^\(([45]\d\d)\)\s*(?:\n|$)|^([45]\d\d)(?::? (?:GET|PUT|POST|HEAD|DELETE|PATCH)\b|, message=|: | \w)|^b'\{.*"(?:code|status)": ?([45]\d\d)\b|too many ([45]\d\d) error responses|\S, ([45]\d\d)\s*$`)

// httpStatus reads the status of an HTTP answer: too many requests and the server's own failures pass, the rest is what
// was asked for.
func httpStatus(_, _ string, message []byte, h heard) family {
	if !bytes.ContainsAny(message, "45") {
		return family{}
	}
	m := statusPattern().FindSubmatch(message)
	if m == nil {
		return family{}
	}
	n, _ := strconv.Atoi(string(bytes.Join(m[1:], nil)))
	return status(n)
}

func status(n int) family {
	switch {
	case n == 408 || n == 421 || n == 423 || n == 425 || n == 429 || n == 499 || n >= 500 && n != 501 && n != 505 && n < 600:
		return transient("http", "ServiceUnavailable", RoleRoot)
	case n >= 400 && n < 600:
		return deterministic("http", "RequestRefused")
	}
	return family{}
}

var rpcPattern = lazy(`\bStatusCode\.([A-Z_]+)|^(?:\w+: |Unable to initialize backend '\w+': )?(CANCELLED|UNKNOWN|INVALID_ARGUMENT|DEADLINE_EXCEEDED|NOT_FOUND|ALREADY_EXISTS|PERMISSION_DENIED|RESOURCE_EXHAUSTED|FAILED_PRECONDITION|ABORTED|OUT_OF_RANGE|UNIMPLEMENTED|INTERNAL|UNAVAILABLE|DATA_LOSS|UNAUTHENTICATED): |code = ([A-Z][A-Za-z]+) desc =`)

// rpcStatus reads a status of gRPC, which JAX and TensorFlow use for everything. INTERNAL, UNKNOWN and
// RESOURCE_EXHAUSTED say nothing by themselves.
func rpcStatus(class, name string, message []byte, h heard) family {
	code := ""
	if m := rpcPattern().FindSubmatch(message); m != nil {
		code = strings.ToUpper(strings.ReplaceAll(string(bytes.Join(m[1:], nil)), "_", ""))
	} else if strings.Contains(class, "errors_impl.") || strings.Contains(class, "api_core") || strings.Contains(class, "grpc") {
		code = strings.ToUpper(strings.TrimSuffix(name, "Error"))
	}
	switch code {
	case "UNAVAILABLE", "ABORTED", "CANCELLED", "SERVICEUNAVAILABLE":
		return transient("rpc", ReasonPeerUnreachable, RoleCascade)
	case "DEADLINEEXCEEDED", "GATEWAYTIMEOUT":
		return transient("rpc", "Timeout", RoleSuspect)
	case "BADGATEWAY", "INTERNALSERVER", "INTERNALSERVERERROR", "TOOMANYREQUESTS", "RETRY", "SERVER":
		return transient("rpc", "ServiceUnavailable", RoleRoot)
	case "PERMISSIONDENIED", "UNAUTHENTICATED", "FORBIDDEN", "UNAUTHORIZED", "BADREQUEST":
		return deterministic("rpc", "RequestRefused")
	case "INVALIDARGUMENT", "NOTFOUND", "ALREADYEXISTS", "FAILEDPRECONDITION", "OUTOFRANGE", "UNIMPLEMENTED":
		return deterministic("rpc", ReasonError)
	}
	return family{}
}

var errnoPattern = lazy(`\[Errno (-?\d+)\]|\bOs \{ code: (\d+)|\(errno:? (\d+)|\(os error (\d+)\)|\berrno[ =:]+(\d+)|Errno::?(\d+)|code: -(\d+), name: E|\((\d+), '[A-Z]|(?i:socket (?:recv|send|connect) error, code): (\d+)`)

// errnoFamily reads an errno: a network or a file server that is away comes back; a disk that is full, a path and a
// permission stay as they are.
func errnoFamily(_, _ string, message []byte, h heard) family {
	if !h.any(saysErrno) {
		return family{}
	}
	m := errnoPattern().FindSubmatch(message)
	if m == nil {
		return family{}
	}
	n, err := strconv.Atoi(string(bytes.Join(m[1:], nil)))
	if err != nil {
		return family{}
	}
	switch n {
	case 32, 102, 103, 104, 108: // EPIPE, ENETRESET, ECONNABORTED, ECONNRESET, ESHUTDOWN
		return transient("errno", ReasonPeerLost, RoleCascade)
	case 100, 101, 111, 112, 113, 64: // ENETDOWN, ENETUNREACH, ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, ENONET
		return transient("errno", ReasonPeerUnreachable, RoleSuspect)
	case 62, 110: // ETIME, ETIMEDOUT
		return transient("errno", "Timeout", RoleSuspect)
	case -2, -3, -5: // EAI_NONAME, EAI_AGAIN, EAI_NODATA
		return transient("errno", "NameResolution", RoleSuspect)
	case 4, 11, 16, 26, 35, 105: // EINTR, EAGAIN, EBUSY, ETXTBSY, EDEADLK, ENOBUFS
		return transient("errno", "ResourceBusy", RoleRoot)
	case 5, 19, 107, 121, 70, 52: // EIO, ENODEV, ENOTCONN, EREMOTEIO, ECOMM, EBADE
		return transient("errno", "InputOutputError", RoleRoot)
	case 116: // ESTALE
		return transient("errno", "StaleFileHandle", RoleRoot)
	case 98: // EADDRINUSE
		return transient("errno", "AddressInUse", RoleRoot)
	case 2: // ENOENT
		return deterministic("errno", "FileNotFound").afterProgress()
	case 1, 13: // EPERM, EACCES
		return deterministic("errno", "PermissionDenied").afterProgress()
	case 28, 122: // ENOSPC, EDQUOT
		return deterministic("errno", "DiskFull")
	case 17, 20, 21, 22, 27, 30, 36, 38, 39, 40, 95:
		return deterministic("errno", ReasonError)
	}
	return family{}
}

// deviceFamily knows what CUDA, its libraries and HIP say. Most of it is a device in a bad state, which a new process
// does not inherit; what the program asked for wrongly it will ask for again.
func deviceFamily(class, _ string, message []byte, h heard) family {
	if !h.any(saysDevice) {
		return family{}
	}
	if !h.any(saysDeviceError) && !strings.HasSuffix(class, "AcceleratorError") {
		return family{}
	}
	if h.any(saysMemory) {
		return family{} // a rule's, which looks at progress
	}
	if h.any(saysDeviceMisuse) {
		return deterministic("device", "CUDAUsage")
	}
	return transient("device", "CUDAError", RoleRoot)
}

// collectiveFamily knows NCCL, RCCL, gloo and MPI: what fails there fails with a peer or the network between.
func collectiveFamily(_, name string, message []byte, h heard) family {
	if name != "DistBackendError" && !h.any(saysCollective) {
		return family{}
	}
	if h.any(saysCollectiveMisuse) {
		return family{}
	}
	if name != "DistBackendError" && !h.any(saysFailure) {
		return family{}
	}
	return transient("collective", "CollectiveFailed", RoleSuspect)
}

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
		"SSLEOFError", "SSLZeroReturnError", "IncompleteBody", "ResponseStreamingError", "HTTPClientError":
		return transient("class", ReasonPeerLost, RoleCascade)
	case "DistStoreError":
		return transient("class", "StoreUnreachable", RoleSuspect)
	case "BrokenProcessPool", "TerminatedWorkerError", "KilledWorker", "BrokenExecutor", "BrokenThreadPool":
		return transient("class", "ChildKilled", RoleSuspect)
	case "WorkerCrashedError", "ActorDiedError", "RayActorError", "ActorUnavailableError", "NodeDiedError", "ObjectLostError", "OwnerDiedError",
		"ObjectFetchTimedOutError", "ReferenceCountingAssertionError", "RaySystemError", "LocalRayletDiedError", "ObjectReconstructionFailedError":
		return transient("class", ReasonPeerLost, RoleCascade)
	case "gaierror", "herror", "NameResolutionError", "ServerNotFoundError":
		return transient("class", "NameResolution", RoleSuspect)
	case "HttpError", "HTTPError", "HttpResponseError", "ClientResponseError", "RequestException", "HTTPException":
		if len(bytes.TrimSpace(message)) == 0 { // it came without an answer, else it had a status
			return transient("class", "ServiceUnavailable", RoleSuspect)
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
	case strings.Contains(name, "Timeout") || strings.HasSuffix(name, "TimedOut") || strings.HasSuffix(name, "DeadlineExceeded"):
		return transient("class", "Timeout", RoleSuspect)
	case strings.HasSuffix(name, "Connection") || strings.HasSuffix(name, "Connect") || strings.HasSuffix(name, "Connector") || strings.HasSuffix(name, "Network") || strings.HasSuffix(whole, "HostException") ||
		strings.Contains(name, "ConnectionFailed") || strings.Contains(name, "CannotConnect") || strings.Contains(name, "FailedToConnect") ||
		strings.HasSuffix(name, "ConnectionRefused") || strings.HasSuffix(name, "Unreachable"):
		return transient("class", ReasonPeerUnreachable, RoleSuspect)
	case strings.Contains(name, "Unavailable") || strings.Contains(name, "Throttl") || strings.HasSuffix(name, "TooManyRequests") || strings.HasSuffix(name, "RateLimit"):
		return transient("class", "ServiceUnavailable", RoleRoot)
	case strings.Contains(name, "Disconnected") || strings.HasSuffix(name, "ConnectionLost") || name == "Socket":
		return transient("class", ReasonPeerLost, RoleCascade)
	}
	return family{}
}

var raisedPattern = lazy(`state=finished raised (\w+)>`)

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

var killedPattern = lazy(`terminated with signal (?:SIG)?([A-Z]+)|died with <Signals\.SIG([A-Z]+)|killed by signal:? (?:SIG)?(\w+)|received signal (?:SIG)?([A-Z]+)|(?:exits? with return code =|[Ee]xit ?code:?|crashed with exit code|exited with code|exit status|return code) -(\d+)|exit(?:ed)? on signal (\d+)|exit codes? \{?[^}]*SIG([A-Z]+)\(`)

// childKilled reads that a child died by a signal: the cause is not in these words, and mostly not in the program.
func childKilled(_, _ string, message []byte, h heard) family {
	if !h.any(saysSignal) {
		return family{}
	}
	m := killedPattern().FindSubmatch(message)
	if m == nil {
		return family{}
	}
	name := string(bytes.Join(m[1:], nil))
	n, err := strconv.Atoi(name)
	if err != nil {
		if n, err = ParseSignal(name); err != nil && name != "Killed" && name != "Segmentation" && name != "Aborted" && name != "Bus" {
			return family{}
		}
	}
	if err == nil && (n <= 0 || n > sigmax) {
		return family{}
	}
	return transient("killed", "ChildKilled", RoleSuspect)
}

// shellKilled reads what a shell says about a child that a signal killed: "line 1: 1234 Killed  python train.py".
func shellKilled(text []byte) bool {
	text = text[:min(len(text), 400)]
	i := bytes.Index(text, []byte("Killed"))
	n := len("Killed")
	for _, word := range []string{"Segmentation fault", "Bus error", "Aborted", "Illegal instruction", "Floating point exception"} {
		if i < 0 {
			i, n = bytes.Index(text, []byte(word)), len(word)
		}
	}
	if i < 0 {
		return false
	}
	head, rest := bytes.TrimRight(text[:i], " "), bytes.TrimSpace(text[i+n:])
	if len(head) == 0 { // "Killed", "Segmentation fault (core dumped)"
		return len(rest) == 0 || bytes.Equal(rest, []byte("(core dumped)"))
	}
	last := head[bytes.LastIndexAny(head, " :")+1:]
	return digits(string(last)) && bytes.Contains(head, []byte(": "))
}
