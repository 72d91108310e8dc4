package exitcodes

import (
	"strings"
	"testing"
)

// TestHeadCutOff has outputs of which only the end is kept: it may begin in the middle of a traceback.
func TestHeadCutOff(t *testing.T) {
	const (
		frames = "  File \"/app/train.py\", line 88, in step\n    loss.backward()\n"
		noise  = "Exception ignored in atexit callback: <function _clean_up at 0x7f2a>\nTraceback (most recent call last):\n" +
			"  File \"/v/torch/utils/data/dataloader.py\", line 1475, in _clean_up\n    w.join(timeout=5)\n"
		bus  = "RuntimeError: DataLoader worker (pid 31) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.\n"
		late = "grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with:\n        status = StatusCode.DEADLINE_EXCEEDED\n        details = \"Deadline Exceeded\"\n>\n"
		rpc  = "grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n\tdetails = \"\"\n>\n"
	)
	for name, tt := range map[string]struct {
		output string
		want   Verdict
		says   string
	}{
		"from a frame on":             {frames + "ValueError: 3 is not 4\n", Fatal, "3 is not 4"},
		"from a line of source on":    {"    return f(x)\n" + frames + rpc, Retry, "UNAVAILABLE"},
		"from within a frame on":      {"kages/x.py\", line 3, in f\n" + frames + rpc, Retry, "UNAVAILABLE"},
		"with an indented message":    {frames + late, Retry, "DEADLINE_EXCEEDED"},
		"with an interpreter's noise": {frames + bus + noise, Retry, "killed by signal: Bus error"},
		"with a chain":                {frames + "ConnectionResetError: [Errno 104] Connection reset by peer\n\n" + chainedCause + ":\n\n" + wrap("RuntimeError: odd"), Retry, "reset by peer"},
		"and another after it":        {frames + "ConnectionResetError: [Errno 104] Connection reset by peer\n" + wrap("ZeroDivisionError: division by zero"), Fatal, "division by zero"},
		"from an exception on":        {"ConnectionResetError: [Errno 104] Connection reset by peer\n\n" + chainedCause + ":\n\n" + wrap("RuntimeError: odd"), Retry, "reset by peer"},
		"no traceback, but handled":   {wrap("ValueError: x") + "a\nb\nc\nd\ne\nf\ng\nh\ni\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n\n" + chainedContext + ":\n\n" + wrap("RuntimeError: could not place the model"), Fatal, "CUDA out of memory"},
		"and cut off at the end":      {"tarfile.ReadError: odd\n\n" + chainedCause + ":\n\nTraceback (most recent call last):\n" + frames, Fatal, "tarfile.ReadError: odd"},
		"a logger's stack":            {"Call stack:\n" + frames + "Message: 'connection lost'\n", Fatal, "exited 1"},
		"a stack that is logged":      {"Stack (most recent call last):\n" + frames + "Steps: 3\n", Fatal, "exited 1"},
		"the name alone":              {"Warning: 7 not found in feat\n\n  assert (a >= b).all()\nAssertionError\n", Fatal, "AssertionError: assert (a >= b).all()"},
		"the name alone of another":   {"----> 6     data = self.dataset.next()\n      7     fit()\n\nStopIteration: \n", Fatal, "StopIteration:"},
		"a name behind a cause":       {"slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-25T10:34:07 DUE TO PREEMPTION ***\nAttributeError\n", Preempted, "PREEMPTION"},
		"a name, and more":            {"AssertionError\nloading the data again\n", Fatal, "exited 1"},
		"a label":                     {"Out:\nError:\n", Fatal, "exited 1"},
	} {
		o := exited(1)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s, %q; want %s, %q", name, f.Verdict, f.Message, tt.want, tt.says)
		}
	}
}

// wrap is what Python prints of an exception that nobody caught.
func wrap(line string) string {
	return "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    f()\n" + line + "\n"
}
