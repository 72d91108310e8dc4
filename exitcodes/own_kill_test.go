package exitcodes

import (
	"strings"
	"testing"
)

// A server that kills itself when one of its workers has failed is judged by what that one said, not by the signal; by that alone.
func TestRaisedInChild(t *testing.T) {
	const (
		head  = "ERROR 04-15 08:11:37 [core.py:387] "
		vllm  = "CRITICAL 04-15 08:11:37 [core_client.py:359] Got fatal signal from worker processes, shutting down. See stack trace above for root cause issue.\n"
		asked = "ERROR 04-15 08:10:00 [api.py:7] Traceback (most recent call last):\nERROR 04-15 08:10:00 [api.py:7]   File \"/app/api.py\", line 7, in ask\nERROR 04-15 08:10:00 [api.py:7] KeyError: 'n'\n"
		serve = "Decode batch 1, throughput 71.2\nDecode batch 2, throughput 71.3\nDecode batch 3, throughput 70.9\nDecode batch 4, throughput 71.0\n"
	)
	raised := func(says string) string {
		return "loading\n" + head + "EngineCore hit an exception: Traceback (most recent call last):\n" + head + "  File \"/app/core.py\", line 7, in run\n" + head + "    step()\n" + head + says + "\n"
	}
	const shape, few = "RuntimeError: The expanded size of the tensor (58) must match the existing size (3) at non-singleton dimension 0.", "ValueError: too many values to unpack (expected 12)"
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
	}{
		"a shape":                              {raised(shape) + vllm + "Killed\n", Fatal},
		"nobody knows":                         {raised(few) + vllm + "Killed\n", Fatal},
		"no word of the kill":                  {raised(few) + "Killed\n", Fatal},
		"what passes":                          {raised("ConnectionResetError: [Errno 104] Connection reset by peer") + vllm, Retry},
		"memory, after progress":               {raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 114.00 MiB.") + vllm, Retry},
		"nothing raised":                       {"loading\n" + vllm + "Killed\n", Retry},
		"a request's error":                    {asked + serve + "Out of memory: Killed process 4021 (VllmWorker)\n" + vllm + "Killed\n", Retry},
		"a request's, a watchdog":              {asked + serve + "[2025-04-20 14:03:13] Scheduler watchdog timeout\n[2025-04-20 14:03:13] Received sigquit from a child process. It usually means the child failed.\n", Retry},
		"it was started anew":                  {raised(few) + "The worker will be respawned\n" + "The server is fired up and ready to roll!\nDecode batch. throughput 71.2\nKilled\n", Retry},
		"a traceback of no child's":            {"Traceback (most recent call last):\n  File \"/app/core.py\", line 7, in run\n" + few + "\nKilled\n", Retry},
		"each line a record, and an empty one": {raised(few) + head + "\n" + vllm + "Killed\n", Fatal},
		"of two children":                      {raised(few) + "(VllmWorker rank=2 pid=9252) " + head + "WorkerProc hit an exception: %s\n" + vllm + "Killed\n", Fatal},
		"started anew":                         {raised(few) + vllm + "restarting server (attempt 2)\nINFO 04-15 08:12:37 [core.py:61] Initializing a V1 LLM engine\nINFO 04-15 08:13:37 [loggers.py:80] Avg prompt throughput: 10.0 tokens/s\nINFO 04-15 09:13:37 [loggers.py:80] Avg prompt throughput: 12.0 tokens/s\nKilled\n", Retry},
		"served after it":                      {"Exception in ModelTpServer:\nTraceback (most recent call last):\n  File \"/app/s.py\", line 7, in run\n    step()\nKeyError: 'req-9'\n\nINFO:     10.0.0.1:1 - \"GET /health HTTP/1.1\" 200 OK\nKilled\n", Retry},
		"memory":                               {raised(few) + "[ 1234.5] Out of memory: Killed process 7 (python3)\nKilled\n", Retry},
		"sglang before 0.4":                    {"Exception in ModelTpServer:\nTraceback (most recent call last):\n  File \"/app/s.py\", line 7, in run\n    step()\nTypeError: begin_forward() missing 1 required positional argument: 'page_size'\n\nKilled\n", Fatal},
		"sglang": {"[2025-04-20 14:03:13] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/app/s.py\", line 7, in run\n    step()\n" +
			"KeyError: 'page_size'\n\n[2025-04-20 14:03:13] Received sigquit from a child process. It usually means the child failed.\nKilled\n", Fatal},
	} {
		for _, o := range []Outcome{killed(sigkill), exited(137)} {
			if f := Judge(o.printing(tt.output), BuiltinRules()); f.Verdict != tt.verdict {
				t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
			}
		}
	}
}

// TestRaisedInChildFound has a parent end because it finds the pipe to such a child closed.
func TestRaisedInChildFound(t *testing.T) {
	const (
		head   = "ERROR 04-08 15:05:44 [core.py:390] "
		child  = head + "EngineCore hit an exception: Traceback (most recent call last):\n" + head + "  File \"/app/core.py\", line 7, in run\n" + head + "    step()\n" + head
		parent = head + "\nTraceback (most recent call last):\n  File \"/app/utils.py\", line 127, in wait_for_startup\n    if self.reader.recv()[\"status\"] != \"READY\":\n  File \"/usr/lib/python3.12/multiprocessing/connection.py\", line 399, in _recv\n    raise EOFError\nEOFError\n"
	)
	for says, want := range map[string]Verdict{
		"AttributeError: 'T' object has no attribute 'init_kwargs'":  Fatal,
		"ValueError: too many values to unpack (expected 12)":        Fatal,
		"ConnectionResetError: [Errno 104] Connection reset by peer": Retry,
	} {
		if f := Judge(exited(1).printing("loading\n"+child+says+"\n"+parent), BuiltinRules()); f.Verdict != want || !strings.Contains(f.Evidence, says) {
			t.Errorf("%s: %s by %q: %s", says, f.Verdict, f.Rule, f.Message)
		}
	}
}
