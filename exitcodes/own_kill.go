package exitcodes

import "bytes"

// killsItself finds where a server says that it kills itself, which runs its workers as children, as vLLM and SGLang do: once a child
// has failed it says so and sends SIGKILL to all of its processes. What the child had said before is why. 0 where nothing says so.
func killsItself(o Outcome) int {
	if o.Status.Number() != CodeSignalBase+sigkill {
		return 0
	}
	from := max(0, len(o.Output)-ownKillEnd)
	for _, says := range ownKillWords {
		if at := bytes.LastIndex(o.Output[from:], says); at >= 0 {
			return bytes.LastIndexByte(o.Output[:from+at], '\n') + 1
		}
	}
	return 0
}

var ownKillWords = [][]byte{
	[]byte("Got fatal signal from worker processes, shutting down."),                   // vllm/v1/engine/core_client.py
	[]byte("Received sigquit from a child process. It usually means the child failed"), // sglang/srt/managers/tokenizer_manager.py
	[]byte("Received sigquit from a child proces. It usually means the child failed"),  // as older ones spell it
}

const ownKillEnd = 2 << 10 // bytes of an output in which that is looked for
