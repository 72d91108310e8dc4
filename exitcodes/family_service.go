package exitcodes

import (
	"bytes"
	"strconv"
	"strings"
)

// saysCode is how the code of a service begins.
var saysCode = phrases.list("<code>", "an error occurred (", "a client error (", "a server error (", "aws error ", "code:", "'code':", "error code", "errorcode", "response code ", "api error ", "error from server (", "name='aws_", "eason: ", "eason\": ", "slowdown: ", "internalerror: ", "throttling")

var serviceCodePattern = lazy(`(?:An|A client|A server) error (?:occurred )?\(([A-Za-z0-9.]+)\) (?:occurred|when calling)|AWS Error ([A-Z_]+)|<Code>([A-Za-z]+)</Code>|(?:ErrorCode|ERROR CODE): ?([A-Za-z]+)|\n\s*Code: (\d{3})\b|Code: ?"?([A-Z][A-Za-z]+)|Error from server \(([A-Za-z]+)\)|name='(AWS_[A-Z_]+)'|'[Cc]ode': ?'([A-Za-z.]+)'|ErrorCode=([A-Za-z]+)|[Ee]rror response code ([A-Z][A-Za-z]+)|api error ([A-Z][A-Za-z]+):|code: ([A-Z][A-Za-z]+), message|[Rr]eason"?: "?([A-Z][A-Za-z.]+)|^(SlowDown|InternalError|Throttling\w*): `)

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
	for _, w := range []string{"resourcelimit", "vcpulimit", "quotaexceeded", "accountlimit", "instancelimit", "nameunavailable"} { // what an account may have does not change by itself, nor who has a name
		if strings.Contains(code, w) && !strings.HasSuffix(code, "persecond") {
			return deterministic("service", "RequestRefused")
		}
	}
	for _, w := range []string{"slowdown", "throttl", "timeout", "toomany", "limitexceeded", "throughputexceeded", "unavailable",
		"internalerror", "internalfailure", "serverbusy", "networkconnection", "network_connection", "connection", "slow_down",
		"internal_failure", "service_unavailable", "request_timeout", "capacity", "timedout", "baddigest", "sha256mismatch", "overloaded", "priorrequestnotcomplete", "operationaborted", "quotaexceededpersecond", "timetooskewed",
		"internalserver", "conflict", "communicationerror", "notinitialized", "sharingviolation", "beingdeleted",
		"isbreaking", "busy", "ratelimit", "nostock", "poolexhausted", "pool_exhausted", "upstream"} {
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

var statusPattern = lazy(`(?i)\b([45]\d\d) (?:Server|Client) Error\b|(?:Server|Client) error '([45]\d\d)\b|HTTP Error ([45]\d\d)\b|(?:HTTP/[\d.]+|HTTP|status(?:[ _]?code)?|response(?: code)?|error code|returned error)['"]?[ :=,]{1,3}['"]?([45]\d\d)\b|\b(?:request failed|error|status): ([45]\d\d)\s*$|\(error ([45]\d\d)\)|<Response \[([45]\d\d)\]>|HttpError ([45]\d\d)\b|HTTP code: ([45]\d\d)\b|<ProtocolError for [^>]*: ([45]\d\d) |^\(([45]\d\d)\)\s*(?:\n|$)|^([45]\d\d)(?::? (?:GET|PUT|POST|HEAD|DELETE|PATCH)\b|, message=|: |(?-i: [A-Z]))|^b'\{.*"(?:code|status)": ?([45]\d\d)\b|too many ([45]\d\d) error responses|[a-z.], ([45]\d\d)\s*$|Tunnel connection failed: ([45]\d\d)\b` + "|" + statedForms)

// statedForms has the forms of programs that tell a status in a sentence, or with its name.
const statedForms = `["'](?:code|status)["']: ?([45]\d\d)\b|\b([45]\d\d):? (?:GET|PUT|POST|HEAD|DELETE|PATCH) https?:|\b(?:server|service|api|endpoint|gateway|proxy|hub|host|registry) (?:has )?(?:responded with|returned|answered|replied|sent|said)(?: with)?(?: an?)?(?: http| status| code| error)* ([45]\d\d)(?: error| status|[.,:;)]|\s*$)|\bHTTP(?:Error:| (?:response )?(?:status )?code:?| status:?) ([45]\d\d)\b|googleapi: Error ([45]\d\d)\b|\breceived ([45]\d\d) [\x60"]|\bresponse from [a-z ]{0,16}: ?([45]\d\d)\b|last exception: ([45]\d\d)\b|error\(([45]\d\d), '|'status': ([45]\d\d)\b|\b(404)[\])]?[ :-]{1,3}not found\b|\b(40[013])[\])]?[ :-]{1,3}(?:bad request|unauthorized|forbidden)|\b([45]\d\d)[\])]?[ :-]{1,3}\(?(?:request time-?out|too many requests|internal server error|bad gateway|service (?:temporarily )?unavailable|gateway time-?out|client closed request|deadline exceeded|backend ?error|a timeout occurred|web server (?:is|returned)|origin is unreachable|site is overloaded)`

// httpStatus reads the status of an HTTP answer: too many requests and the server's own failures pass, the rest is what
// was asked for.
func httpStatus(_, name string, message []byte, h heard) family {
	switch name {
	case "error_perm": // of FTP, which numbers as HTTP does, but 5xx are the client's there
		return deterministic("class", "RequestRefused")
	case "TransferEncodingError", "ContentLengthError": // of an answer that was cut short, whatever is the number that they give it
		return family{}
	case "Aborted": // Google's, whose status of 409 says less
		return family{}
	}
	if !bytes.ContainsAny(message, "45") || bytes.HasPrefix(message, unavailable) {
		return family{}
	}
	if text := string(bytes.TrimSpace(message)); len(text) == 3 && (strings.Contains(name, "HTTP") || strings.Contains(name, "Http")) {
		n, _ := strconv.Atoi(text)
		return status(n)
	}
	m := statusPattern().FindSubmatch(message)
	if m == nil {
		return family{}
	}
	if bytes.HasPrefix(m[0], []byte("HTTP/")) && bytes.IndexByte(m[0], '"') > 0 || tornadoPattern().Match(message) { // a server's log of a request, which is not the one that ended
		return family{}
	}
	n, _ := strconv.Atoi(string(bytes.Join(m[1:], nil)))
	if n == 500 && bytes.Contains(message, []byte("Check failed")) { // of the program that answered so
		return family{}
	}
	if n == 410 && bytes.Contains(message, []byte("uploadType=resumable")) { // which can be begun again
		n = 503
	}
	if n == 403 && h.any(saysLimit) { // as GitHub and Google say it
		n = 429
	}
	return status(n)
}

// tornadoPattern is how Tornado logs a request: "500 POST /v1/models/m:predict (127.0.0.1) 21.34ms".
var tornadoPattern = lazy(`^500 (?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) \S+ \([\w.:]+\) [\d.]+ms`)

var saysLimit = phrases.list("rate limit exceeded", "ratelimitexceeded")

// unavailable begins an error that TensorFlow expects to pass, whatever the status that it quotes: an upload that cannot be
// resumed (410) can be begun again.
var unavailable = []byte("Unavailable: ")

func status(n int) family {
	switch {
	case n == 408 || n == 421 || n == 423 || n == 425 || n == 429 || n == 499 || n >= 500 && n != 501 && n != 505 && n < 600:
		return transient("http", "ServiceUnavailable", RoleRoot)
	case n >= 400 && n < 600:
		return deterministic("http", "RequestRefused")
	}
	return family{}
}

var rpcPattern = lazy(`\bStatusCode\.([A-Z_]+)|Status::OK\(\) \((Cancelled|Aborted|Unavailable|Deadline [Ee]xceeded): |^(?:\w+: |Unable to initialize backend '\w+': )?(CANCELLED|UNKNOWN|INVALID_ARGUMENT|DEADLINE_EXCEEDED|NOT_FOUND|ALREADY_EXISTS|PERMISSION_DENIED|RESOURCE_EXHAUSTED|FAILED_PRECONDITION|ABORTED|OUT_OF_RANGE|UNIMPLEMENTED|INTERNAL|UNAVAILABLE|DATA_LOSS|UNAUTHENTICATED): |^(?:[A-Z][\w ]{1,30}: )?(Unavailable|Aborted|Deadline exceeded): |^\((Unavailable|ExecutionTimeout)\) |code = ([A-Z][A-Za-z]+) desc =` + "|" + statedStates)

// statedStates has the forms in which others than Google's libraries tell a state of gRPC that passes.
const statedStates = `(?:^|[\s:"'(\[{])(UNAVAILABLE|ABORTED|CANCELLED|DEADLINE_EXCEEDED): |\b(?:status|code):? (UNAVAILABLE|ABORTED|CANCELLED|DEADLINE_EXCEEDED|Unavailable|Aborted|DeadlineExceeded)\b|failed: (UNAVAILABLE|DEADLINE_EXCEEDED)\s*$|"status": ?"(UNAVAILABLE|ABORTED|CANCELLED|DEADLINE_EXCEEDED)"`

var wordBreak = strings.NewReplacer("_", "", " ", "")

// rpcStatus reads a status of gRPC, which JAX and TensorFlow use for everything. INTERNAL, UNKNOWN and
// RESOURCE_EXHAUSTED say nothing by themselves.
func rpcStatus(class, name string, message []byte, h heard) family {
	code := ""
	if m := rpcPattern().FindSubmatch(message); m != nil {
		code = strings.ToUpper(wordBreak.Replace(string(bytes.Join(m[1:], nil))))
	} else if strings.Contains(class, "errors_impl.") || strings.Contains(class, "api_core") || strings.Contains(class, "grpc") {
		code = strings.ToUpper(strings.TrimSuffix(name, "Error"))
	}
	switch code {
	case "UNAVAILABLE", "ABORTED", "CANCELLED", "SERVICEUNAVAILABLE":
		return transient("rpc", ReasonPeerUnreachable, RoleCascade)
	case "DEADLINEEXCEEDED", "GATEWAYTIMEOUT", "EXECUTIONTIMEOUT":
		return transient("rpc", "Timeout", RoleSuspect)
	case "BADGATEWAY", "INTERNALSERVER", "INTERNALSERVERERROR", "TOOMANYREQUESTS", "RETRY", "SERVER":
		return transient("rpc", "ServiceUnavailable", RoleRoot)
	case "PERMISSIONDENIED", "UNAUTHENTICATED", "FORBIDDEN", "UNAUTHORIZED", "BADREQUEST":
		return deterministic("rpc", "RequestRefused")
	case "FAILEDPRECONDITION": // TensorFlow makes it of an ESTALE and of a server that it does not reach
		if h.any(saysFileServer) || h.any(saysUnreachable) {
			return family{}
		}
		return deterministic("rpc", ReasonError)
	case "INVALIDARGUMENT", "NOTFOUND", "ALREADYEXISTS", "OUTOFRANGE", "UNIMPLEMENTED":
		return deterministic("rpc", ReasonError)
	}
	return family{}
}
