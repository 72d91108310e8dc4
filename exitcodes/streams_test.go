package exitcodes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// spoken is what a worker printed by both of its streams: lines that begin with "1 " or "2 ", a millisecond apart. The last
// came at noon.
func spoken(code int, lines ...string) Outcome {
	o := exited(code)
	o.At = noon
	for i, l := range lines {
		at := noon.Add(time.Duration(i+1-len(lines)) * time.Millisecond)
		o.Arrived = append(o.Arrived, Arrival{Offset: len(o.Output), At: at, Stream: int(l[0] - '0')})
		o.Output = append(o.Output, l[2:]+"\n"...)
	}
	return o
}

// traced is a traceback on standard error.
func traced(exception ...string) []string {
	lines := []string{"2 Traceback (most recent call last):", `2   File "train.py", line 9, in <module>`, "2     main()"}
	for _, e := range exception {
		lines = append(lines, "2 "+e)
	}
	return lines
}

// TestStreams has a worker's standard output come after, within and before the traceback on its standard error.
func TestStreams(t *testing.T) {
	noData := traced("RuntimeError: spot watcher: the run has no data")
	join := func(parts ...[]string) (all []string) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	refused := []string{"1 metrics: connection refused"}
	caught := []string{"2 Traceback (most recent call last):", `2   File "train.py", line 19, in run`, "2     f()", "2 ConnectionResetError: [Errno 104] Connection reset by peer"}
	for name, tt := range map[string]struct {
		code    int
		lines   []string
		verdict Verdict
		says    string
	}{
		"written at the end":             {1, join(noData, refused), Fatal, "RuntimeError: spot watcher: the run has no data"},
		"written before":                 {1, join(refused, noData), Fatal, "RuntimeError: spot watcher: the run has no data"},
		"the message's own second line":  {1, join(noData, []string{"2 metrics: connection refused"}), Retry, "connection refused"},
		"the message goes on behind it":  {1, join(traced("RuntimeError: the loader says:"), []string{"1 epoch 3"}, []string{"2 connection refused"}), Retry, "connection refused"},
		"within the frames":              {1, join(noData[:2], []string{"1 ValueError: bad lr"}, traced("ConnectionResetError: [Errno 104] Connection reset by peer")[2:]), Retry, "Connection reset by peer"},
		"within the frames, one stream":  {1, join(noData[:2], []string{"2 ValueError: bad lr"}, traced("ConnectionResetError: [Errno 104] Connection reset by peer")[2:]), Fatal, "ValueError: bad lr"},
		"a shell's, and then why":        {1, []string{"2 cp: cannot stat '/cache': No such file or directory", "1 fetch: read tcp 10.0.0.7:443: connection reset by peer"}, Retry, "reset by peer"},
		"steps between":                  {1, []string{"2 error: cannot open cache", "1 step 1", "1 step 2", "1 step 3", "1 step 4", "1 recv: Connection reset by peer"}, Retry, "reset by peer"},
		"said of another batch":          {1, join(caught, []string{"2 see the log for more", "1 epoch 1", "1 batch 7 is nan, skipping"}), Retry, "Connection reset by peer"},
		"said of this one":               {1, join([]string{"1 batch 7 is lost, skipping"}, caught, []string{"2 no such dataset: foo"}), Fatal, "no such dataset"},
		"its stream is not known at all": {1, join(noData[:1], []string{`0   File "train.py", line 9, in <module>`}, noData[2:3], []string{"0 ConnectionResetError: [Errno 104] Connection reset by peer"}), Retry, "Connection reset by peer"},
		"nor that of its heading":        {1, join([]string{"0" + noData[0][1:]}, noData[1:]), Fatal, "RuntimeError: spot watcher: the run has no data"},
		"another's is not known":         {1, join(noData, []string{"2 ", "0 epoch 3"}), Fatal, "RuntimeError: spot watcher: the run has no data"},
		"a refusal, and then its fault":  {1, []string{"1 metrics: wrote 3", "2 dial tcp 10.0.0.7:80: connection refused"}, Retry, "connection refused"},
		"a trace, and then refused":      {1, []string{"2 + ./sync /data", "1 connection refused", "1 giving up"}, Retry, "connection refused"},
		"its fault is on the same":       {1, []string{"2 fatal: no such config: a.yaml", "2 metrics: connection refused"}, Retry, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Judge(spoken(tt.code, tt.lines...), BuiltinRules())
			if f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
				t.Errorf("%s by %q: %s", f.Verdict, f.Rule, f.Message)
			}
		})
	}
}

// TestStreamsOfARank has the same under torchrun, which ends later than its rank.
func TestStreamsOfARank(t *testing.T) {
	ended := func(lines ...string) Outcome {
		for l := range strings.Lines(report(failure(0, 1, 35, noTraceback))) {
			lines = append(lines, "2 "+strings.TrimSuffix(l, "\n"))
		}
		return spoken(1, lines...)
	}
	refused := "1 metrics: connection refused"
	told := traced("RuntimeError: spot watcher: the run has no data")
	f := Judge(ended(append(told, refused)...), BuiltinRules())
	if f.Verdict != Fatal {
		t.Errorf("standard output: %s by %q: %s", f.Verdict, f.Rule, f.Message)
	}
	f = Judge(ended(append(told, "2"+refused[1:])...), BuiltinRules())
	if f.Verdict != Retry {
		t.Errorf("the message: %s by %q: %s", f.Verdict, f.Rule, f.Message)
	}
}

// TestStepBetweenStreams has a worker report a step after what it had got over, and before why it ended.
func TestStepBetweenStreams(t *testing.T) {
	reset := traced("ConnectionResetError: [Errno 104] Connection reset by peer")
	for i := range reset {
		reset[i] = "1" + reset[i][1:]
	}
	for over, step := range map[string]int{"2 error: slow disk": 5, traced("ValueError: bad cache")[0]: 0} {
		o := spoken(1, append([]string{over, "2 so be it", "1 epoch 5"}, reset...)...)
		if step > 0 {
			o.StepAt = o.At.Add(-time.Duration(step) * time.Millisecond)
		}
		if f := Judge(o, BuiltinRules()); f.Verdict != Retry || !strings.Contains(f.Evidence, "reset by peer") {
			t.Errorf("after %q: %s by %q: %s", over, f.Verdict, f.Rule, f.Message)
		}
	}
}

// TestSaysEndByTwoStreams has a program that does not end write what it had kept after its traceback, and one go on after it.
func TestSaysEndByTwoStreams(t *testing.T) {
	told := traced("ValueError: heads must divide hidden")
	for pause, want := range map[time.Duration]bool{20 * time.Millisecond: true, 5 * time.Second: false} {
		var steps []string
		for i := range 20 {
			steps = append(steps, fmt.Sprintf("1 step %d loss 0.5", i))
		}
		o := spoken(0, append(slices.Clone(told), steps...)...)
		for i := range told {
			o.Arrived[i].At = o.Arrived[i].At.Add(-pause)
		}
		running := o
		running.At = time.Time{}
		if line, ended := SaysEnd(running, BuiltinRules()); ended != want || ended && !strings.Contains(line, "heads must divide hidden") {
			t.Errorf("steps %v after: %v %q", pause, ended, line)
		}
		o.Stop, o.Status, o.StoppedAt, o.At = StoppedByGang, Status{Signal: sigterm}, noon.Add(time.Millisecond), noon.Add(100*time.Millisecond)
		if f := Judge(o, BuiltinRules()); f.Said == nil && want {
			t.Errorf("stopped, with steps %v after: %+v", pause, f.Said)
		}
		for i := range told { // as far apart, and steps all the while
			o.Arrived[i].At = noon.Add(-time.Minute)
		}
		for i := len(told); i < len(o.Arrived); i++ {
			o.Arrived[i].At = noon.Add(time.Duration(i-len(o.Arrived)) * time.Second)
		}
		o.At = time.Time{}
		if line, ended := SaysEnd(o, BuiltinRules()); ended {
			t.Errorf("goes on: %q", line)
		}
	}
}
