package exitcodes

import "testing"

// TestInterrupted has programs that a person has stopped, as several processes print it into each other, and as programs say it that
// catch it; what comes after is their end.
func TestInterrupted(t *testing.T) {
	const atexit = "Exception ignored in atexit callback: <function clean at 0x7f>\nTraceback (most recent call last):\n  File \"a.py\", line 3, in clean\n    w.join()\nKeyboardInterrupt: \n"
	const reset = "Exception in thread Thread-1 (_pin_memory_loop):\nTraceback (most recent call last):\n  File \"pin_memory.py\", line 3, in loop\n    get()\nConnectionResetError: [Errno 104] Connection reset by peer\n"
	for name, tt := range map[string]struct {
		output string
		want   Verdict
	}{
		"by several":      {"KeyboardInterrupt\nKeyboardInterrupt\n  File \"b.py\", line 7, in poll\n" + atexit + "KeyboardInterrupt\nError reading sample 29069010: Ran out of input\n", Preempted},
		"and said":        {reset + "2024-07-14 07:04:35 - LOGS - Best checkpoint saved\n2024-07-14 07:04:38 - LOGS - Keyboard interruption. Exiting from early training\n2024-07-14 07:04:39 - LOGS - Training took 00:09:17.33\n", Preempted},
		"said, and a bug": {"Keyboard interruption. Exiting from early training\n" + wrap("RuntimeError: odd"), Fatal},
		"advice":          {"press Ctrl-C to stop the training\nerror: no such config: a.yaml\n", Fatal},
	} {
		t.Run(name, func(t *testing.T) {
			o := exited(1)
			o.Output = []byte(tt.output)
			if f := Judge(o, BuiltinRules()); f.Verdict != tt.want {
				t.Errorf("%s by %q (%q), want %s", f.Verdict, f.Rule, f.Evidence, tt.want)
			}
		})
	}
}
