package exitcodes

import "testing"

// A server that kills itself when one of its workers has failed is judged by what that one said, not by the signal.
func TestKillsItself(t *testing.T) {
	const head, vllm = "ERROR 04-15 08:11:37 [core.py:387] ", "CRITICAL 04-15 08:11:37 [core_client.py:359] Got fatal signal from worker processes, shutting down. See stack trace above for root cause issue.\n"
	raised := func(says string) string {
		return "loading\n" + head + "Traceback (most recent call last):\n" + head + "  File \"/app/core.py\", line 7, in run\n" + head + "    step()\n" + head + says + "\n"
	}
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
	}{
		"a shape":        {raised("RuntimeError: The expanded size of the tensor (58) must match the existing size (3) at non-singleton dimension 0.") + vllm + "Killed\n", Fatal},
		"nobody knows":   {raised("ValueError: too many values to unpack (expected 12)") + vllm + "Killed\n", Fatal},
		"what passes":    {raised("ConnectionResetError: [Errno 104] Connection reset by peer") + vllm, Retry},
		"no word of it":  {raised("ValueError: too many values to unpack (expected 12)") + "Killed\n", Retry},
		"nothing raised": {"loading\n" + vllm + "Killed\n", Retry},
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
