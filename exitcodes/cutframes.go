package exitcodes

import (
	"bytes"
	"strings"
)

// raising finds what an exception was about that is not named, since the output ends in its traceback: of the frames from line i
// on the last tells. Either its source raises an exception of a class that passes, or it is one of a library that does nothing but
// talk to another machine.
func (r *reader) raising(i int) (said, bool) {
	place := -1
	for j := len(r.lines) - 1; j >= i && place < 0; j-- {
		if isFrame(r.lines[j].text) && !r.lines[j].contains(plumbing...) {
			place = j
		}
	}
	if place < 0 || !r.meter.afford(familyPasses, 2*maxMessageText) {
		return said{}, false
	}
	source := place + 1
	for source < len(r.lines) && r.lines[source].blank() {
		source++
	}
	if source < len(r.lines) {
		if class, message, ok := raiseOf(r.lines[source].text); ok {
			if f := familyOf(class, message); f.known() || class != "" {
				return said{match: Match{Rule: f.rule(), Line: r.lines[source].shown()}, known: true, at: source}, f.verdict == Retry
			}
		}
	}
	met := source < len(r.lines) && r.lines[source].contains("TCPStore(", "next(rendezvous_iterator)")
	if !met && !talks(r.lines[place].text) {
		return said{}, false
	}
	f := transient("frame", ReasonPeerUnreachable, RoleSuspect)
	return said{match: Match{Rule: f.rule(), Line: r.lines[place].shown()}, known: true, at: place}, true
}

// nameCut reports whether the output ends within the name of the exception with which the chain ends: "ssl.SSLErr".
func (r *reader) nameCut(c *chain) bool {
	m := c.last()
	last := m.lines[len(m.lines)-1]
	if looksRaised(m.class) || len(m.lines) > 1 || len(bytes.TrimSpace(r.lines[last].text)) != len(m.class) {
		return false
	}
	for _, l := range r.lines[last+1:] {
		if !l.blank() {
			return false
		}
	}
	return true
}

// raiseOf splits a line of source that raises an exception by the name of its class, which is empty where a variable has it.
func raiseOf(source []byte) (class string, message []byte, ok bool) {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(source), []byte("raise "))
	if !ok {
		return "", nil, false
	}
	name, message, _ := bytes.Cut(rest, []byte("("))
	name, _, _ = bytes.Cut(name, []byte(" "))
	if class = string(name); !looksRaised(class) {
		return "", nil, true
	}
	if len(message) == 0 {
		message = []byte("?") // what it says is not known
	}
	return class, message[:min(len(message), maxMessageText)], true
}

// talks reports whether a frame is in code that only talks to another machine, and not where that judges an answer or is imported.
func talks(frame []byte) bool {
	path, rest, _ := bytes.Cut(frame, []byte(`",`))
	_, name, _ := bytes.Cut(rest, []byte(", in "))
	path = bytes.ReplaceAll(path, []byte(`\`), []byte("/"))
	for _, judged := range []string{"raise_for_status", "http_error", "<module>"} {
		if strings.Contains(string(name), judged) {
			return false
		}
	}
	for _, file := range talkers {
		if i := bytes.LastIndex(path, []byte(file)); i >= 0 && (file[len(file)-1] == '/' || i+len(file) == len(path)) {
			return true
		}
	}
	return false
}

// plumbing are frames through which exceptions of others come.
var plumbing = []string{"/contextlib.py\"", "File \"<string>\"", "/six.py\"", "/asyncio/", "/concurrent/futures/", "/tenacity/", "/backoff/", "/retrying.py\""}

// talkers are the files of Python's library and the packages that talk to other machines.
var talkers = []string{"/socket.py", "/ssl.py", "/http/client.py", "/httplib.py", "/urllib/request.py", "/urllib2.py", "/urllib3/", "/requests/adapters.py", "/requests/sessions.py", "/requests/models.py", "/requests/api.py",
	"/httpx/", "/httpcore/", "/h11/", "/aiohttp/", "/botocore/httpsession.py", "/botocore/endpoint.py", "/grpc/_channel.py", "/websocket/",
	"/websockets/", "/redis/connection.py", "/pymongo/", "/paramiko/", "/mlflow/utils/rest_utils.py", "/mlflow/store/tracking/rest_store.py", "/wandb/sdk/mailbox/", "/wandb/sdk/lib/mailbox.py", "/wandb/sdk/lib/sock_client.py"}
