package exitcodes

import (
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
		"a plain fault, and then refuse": {1, []string{"2 fatal: no such config: a.yaml", "1 metrics: connection refused"}, Fatal, "no such config"},
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
