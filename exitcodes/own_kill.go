package exitcodes

import "bytes"

// killsItself finds where a server says that it kills itself, which runs its workers as children, as vLLM and SGLang do: once a child
// has failed it says so and sends SIGKILL to all of its processes. What the child had said before is why. It returns where that ends and the line that tells of the kill; 0 where nothing does.
func killsItself(o Outcome) (at int, told string) {
	if o.Status.Number() != CodeSignalBase+sigkill {
		return 0, ""
	}
	from := max(0, len(o.Output)-ownKillEnd)
	for _, says := range ownKillWords {
		if at := bytes.Index(o.Output[from:], says); at >= 0 {
			at = bytes.LastIndexByte(o.Output[:from+at], '\n') + 1
			line, _, _ := bytes.Cut(o.Output[at:], []byte("\n"))
			return at, string(bytes.TrimSpace(line))
		}
	}
	for _, says := range childRaised {
		if bytes.Contains(o.Output[max(0, len(o.Output)-childRaisedEnd):], says) {
			return len(bytes.TrimSuffix(bytes.TrimRight(o.Output, "\r\n "), []byte("Killed"))), ""
		}
	}
	return 0, ""
}

var ownKillWords = [][]byte{
	[]byte("Got fatal signal from worker processes, shutting down."),                   // vllm/v1/engine/core_client.py
	[]byte("Received sigquit from a child process. It usually means the child failed"), // sglang/srt/managers/tokenizer_manager.py
	[]byte("Received sigquit from a child proces. It usually means the child failed"),  // as older ones spell it
}

// childRaised heads the traceback of a child of SGLang's, after which its parent kills all.
var childRaised = [][]byte{[]byte("Scheduler hit an exception: Traceback"), []byte("TpModelWorkerClient hit an exception: Traceback"), []byte("TpModelWorker hit an exception: Traceback")}

// Bytes of an output in which that is looked for, and such a traceback.
const (
	ownKillEnd     = 2 << 10
	childRaisedEnd = 16 << 10
)
