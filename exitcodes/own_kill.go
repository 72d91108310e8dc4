package exitcodes

import (
	"bytes"
	"slices"

	"github.com/gangrun/gangrun/exitcodes/wording"
)

// raisedInChild is what a child had said of which a server died that runs its workers as children, as vLLM and SGLang do: once one of
// them has failed, the parent sends SIGKILL to all. It begins where the child's own traceback is headed, so that errors of requests that were
// answered before are none of it. Nil where the output has no such head near its end, or nothing was killed.
func raisedInChild(o Outcome) []byte {
	if o.Status.Number() != CodeSignalBase+sigkill {
		return nil
	}
	from := max(0, len(o.Output)-childEnd)
	if bytes.Contains(o.Output[from:], []byte("Killed process")) { // as the kernel tells of an OOM kill
		return nil
	}
	head := first(o.Output[from:], childHeads)
	if head < 0 {
		return nil
	}
	head = bytes.LastIndexByte(o.Output[:from+head], '\n') + 1
	said := bytes.TrimRight(o.Output[head:], "\r\n ")
	if at := first(said, serverStops); at >= 0 {
		if bytes.Count(bytes.ReplaceAll(said[at:], []byte("\n\n"), []byte("\n")), []byte("\n")) > maxStopping {
			return nil // it was started again
		}
		said = said[:bytes.LastIndexByte(said[:at], '\n')+1]
	}
	return bytes.TrimSuffix(said, []byte("Killed"))
}

const maxStopping = 3 // lines after the first from the server's words on that it stops

// first is where the first of some words is, or -1.
func first(text []byte, words [][]byte) int {
	at := -1
	for _, w := range words {
		if i := bytes.Index(text, w); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	return at
}

// raisedByChild judges what such a child had said, where that ends with its exception: nothing of the server's work came after it.
func raisedByChild(o Outcome, rules *Rules) (w said, found bool) {
	r := newReader(o, rules)
	w = r.lastWords()
	for i := w.at + 1; i < len(r.lines); i++ {
		if l := &r.lines[i]; l.kind == kindWork || l.kind == kindOther && !l.blank() && !r.inside[i] && l.level < levelWarning {
			return said{}, false // the server worked on
		}
	}
	if w.known {
		return w, w.match.Rule.Verdict == Fatal && !w.match.Rule.PrintedSteps // memory that many requests took together may do for fewer
	}
	return w, w.program || w.unknown && wording.Weigh(w.exception).Score < -1
}

// childRaised judges the exception of such a child before the chain c, by which its parent found the pipe to it closed.
func (r *reader) childRaised(c *chain) (said, bool) {
	for i := len(r.chains) - 1; i >= 0; i-- {
		before := &r.chains[i]
		if before.end >= c.begin || before.survived || before.begin == 0 {
			continue
		}
		if slices.ContainsFunc(r.lines[before.end+1:c.begin], func(l line) bool { return l.kind == kindWork }) {
			break
		}
		if r.lines[before.begin-1].contains("hit an exception") {
			s := r.judgeChain(before)
			return s, s.known || s.program
		}
	}
	return said{}, false
}

// childHeads head the traceback of such a child.
var childHeads = [][]byte{
	[]byte("EngineCore hit an exception: Traceback"), []byte("WorkerProc hit an exception"), // vllm/v1
	[]byte("Scheduler hit an exception: Traceback"), []byte("TpModelWorkerClient hit an exception: Traceback"), // sglang/srt/managers
	[]byte("TpModelWorker hit an exception: Traceback"), []byte("Exception in ModelTpServer:"), []byte("Exception in ControllerSingle:"),
}

// serverStops are the words with which the server then kills itself.
var serverStops = [][]byte{[]byte("Got fatal signal from worker processes, shutting down."), []byte("Received sigquit from a child process.")}

const childEnd = 32 << 10 // bytes of an output in which such a head is looked for
