package exitcodes

import (
	"bytes"
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
	printed bool    // also one that was only printed
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
	return Rule{Name: f.name, Role: f.role, Verdict: f.verdict, AfterProgress: f.after, PrintedSteps: f.printed, Reason: f.reason, signal: f.signal}
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
	if i := bytes.Index(message, hint); i > 0 {
		message = message[:i]
	}
	lower := bytes.ToLower(message)
	if ownErrors[name] {
		lower = unquoted(lower) // what the input held
	}
	h := phrases.in(lower)
	for _, judge := range []func(string, string, []byte, heard) family{
		imageFamily, serviceCode, childKilled, sqlFamily, httpStatus, rpcStatus, errnoFamily, memoryFamily, deviceFamily, collectiveFamily, classFamily, phraseFamily,
		systemFamily,
	} {
		if f := judge(class, name, message, h); f.unfit(h) {
			return family{}
		} else if f.known() {
			return f
		}
	}
	if inner, rest, ok := wrapped(message); ok && !ownErrors[name] { // a wrapper that says what it has caught
		of := inner[strings.LastIndexByte(inner, '.')+1:]
		if isLogicError(of) {
			return family{}
		}
		if f := rpcStatus(inner, of, []byte(rest), h); f.known() {
			return f
		}
		return classFamily(inner, of, []byte(rest), h)
	}
	return family{}
}

// wrapped splits the exception that a message passes on: it is the message, or stands behind what was being done, "epoch 3 failed:
// TimeoutError".
func wrapped(message []byte) (class, rest string, ok bool) {
	for range maxWrapped {
		if class, rest, ok = raisedHead(message); ok {
			return class, rest, true
		}
		i := bytes.Index(message[:min(len(message), 200)], []byte(": "))
		if i < 0 {
			break
		}
		message = message[i+2:]
	}
	if m := raisedPattern().FindSubmatch(message); m != nil { // of a future, as it is printed
		return string(m[1]), "", true
	}
	return "", "", false
}

const maxWrapped = 5

// hint begins what Paddle says of an error in general.
var hint = []byte("[Hint: ")

const (
	maxMessageText = 1536 // bytes of a message that are read
	familyPasses   = 10   // over them: to lower case, the phrases, and at most eight expressions
)

// phrases are what messages say about conditions; each family has lists of its own.
var phrases = newVocabulary()
