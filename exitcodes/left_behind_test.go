package exitcodes

import (
	"strings"
	"testing"
)

// TestLeftBehind has children of multiprocessing lose their parent, which has said before why it goes, or not.
func TestLeftBehind(t *testing.T) {
	child := ""
	for _, n := range []string{"1", "2", "3", "4"} {
		child += "Process Process-" + n + ":\nTraceback (most recent call last):\n  File \"/usr/lib/python3.12/multiprocessing/process.py\", line 314, in _bootstrap\n    self.run()\n" +
			"  File \"/app/vector.py\", line 249, in _worker\n    pipe.send(infos)\n  File \"/usr/lib/python3.12/multiprocessing/connection.py\", line 384, in _send\n    n = write(self._handle, buf)\nBrokenPipeError: [Errno 32] Broken pipe\n"
	}
	const caught = "[12:00:00.594] [0-0]  ERROR    Tool invocation failed\nTraceback (most recent call last):\n  File \"/app/tool.py\", line 735, in main\n    run()\nAttributeError: 'Policy' object has no attribute 'width'\n"
	for name, tt := range map[string]struct {
		printed string
		verdict Verdict
		says    string
	}{
		"a bug of its parent":      {caught + child, Fatal, "no attribute 'width'"},
		"a peer that its parent":   {raised + reset + "\n" + child, Retry, reset},
		"nothing of its parent":    {child, Retry, "Broken pipe"},
		"the bug of its parent":    {child + raised + badHeads + "\n", Fatal, badHeads},
		"what was survived before": {caught + strings.Repeat("step 1 loss 2.5\n", 14) + child, Retry, "Broken pipe"},
	} {
		if f := Judge(exited(1).printing("Loading run.yaml\n"+tt.printed), BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}

// TestNoWork has what comes behind an exception repeat itself, and be no work: the stack that a message quotes, what a program says
// when it takes its leave.
func TestNoWork(t *testing.T) {
	const (
		lost  = "torch.cuda.DeferredCudaCallError: CUDA call failed lazily at initialization with error: CUDA error: unknown error\n\nCUDA call was originally invoked at:\n\n"
		stack = "  File \"<frozen importlib._bootstrap>\", line 1027, in _find_and_load\n  File \"<frozen importlib._bootstrap>\", line 1006, in _find_and_load\n"
		leave = "[2026-01-10 11:12:58,805][src.utils][INFO] - Output dir: /logs/1\n[2026-01-10 11:12:58,806][src.utils][INFO] - Closing wandb!\n"
		busy  = "[2026-01-10 11:12:58,803][src.utils][ERROR] - \nTraceback (most recent call last):\n  File \"/app/utils.py\", line 65, in wrap\n    task()\nRuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable\n\n"
	)
	for name, tt := range map[string]struct {
		printed string
		verdict Verdict
		says    string
	}{
		"a stack":                  {raised + lost + strings.Repeat(stack, 4), Retry, "unknown error"},
		"what takes its leave":     {leave + leave + busy + leave, Retry, "busy or unavailable"},
		"and is more than a leave": {leave + leave + busy + leave + leave + leave, Fatal, "exited 1"},
	} {
		if f := Judge(exited(1).printing("Loading run.yaml\n"+tt.printed), BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}
