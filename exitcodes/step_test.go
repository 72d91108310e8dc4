package exitcodes

import (
	"testing"
	"time"
)

// TestStepReadLate has the last step, and what was printed of it, read right after the traceback that came after both, as
// happens where there are more processes than processors; and a step that did come after a traceback.
func TestStepReadLate(t *testing.T) {
	lost := append(traced("RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:31337"), "1 step 50, loss 0.31")
	for after, want := range map[time.Duration]Verdict{40 * time.Millisecond: Retry, 2 * time.Second: Fatal} {
		o := spoken(1, lost...)
		for i := range o.Arrived {
			o.Arrived[i].At = noon.Add(-3 * time.Second)
		}
		o.Arrived[len(lost)-1].At = noon.Add(-3*time.Second + after/2)
		o.StepAt = noon.Add(-3*time.Second + after)
		if f := Judge(o, BuiltinRules()); f.Verdict != want || f.Unknown != (want == Fatal) {
			t.Errorf("a step %v after the traceback: %s by %q: %s", after, f.Verdict, f.Rule, f.Message)
		}
	}
}
