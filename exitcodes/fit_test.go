package exitcodes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// sound fails the test unless b is one line of ASCII JSON of at most limit bytes that reads back as a message with
// the verdict and exit code of m.
func sound(t *testing.T, m Message, limit int, b []byte) Message {
	t.Helper()
	if len(b) > limit {
		t.Fatalf("%d bytes, limit %d: %s", len(b), limit, b)
	}
	if i := bytes.IndexFunc(b, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		t.Fatalf("byte %d is %q: %s", i, b[i], b)
	}
	if !json.Valid(b) {
		t.Fatalf("not JSON: %s", b)
	}
	got, err := ParseMessage(b)
	if err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	short := utf8.ValidString(string(m.Verdict)) && escapedLen(string(m.Verdict)) <= 16
	if got.ExitCode != m.ExitCode || short && got.Verdict != m.Verdict {
		t.Fatalf("verdict %q, exit code %d became %q, %d", m.Verdict, m.ExitCode, got.Verdict, got.ExitCode)
	}
	return got
}

// escapedLen asks the encoder how long s is in a JSON string, which is what width has to foretell.
func escapedLen(s string) int {
	return len((&Message{Reason: s}).marshal()) - len((&Message{Reason: "."}).marshal()) + 1
}

func TestWidth(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r > 0x3000 && r < 0xd7ff || r > 0x10100 && r < 0x10fff0 {
			continue // nothing special in there
		}
		s := string(r)
		if got, want := width(s), escapedLen(s); got != want {
			t.Errorf("%U: width %d, JSON takes %d", r, got, want)
		}
	}
	for _, s := range []string{"\xff", "\xe2\x82", "a\xc3", "\xed\xa0\x80", "\xf0\x9f\x94"} {
		if got, want := width(s), escapedLen(s); got != want {
			t.Errorf("%q: width %d, JSON takes %d", s, got, want)
		}
	}
}

func TestKeepStart(t *testing.T) {
	for _, tc := range []struct {
		s     string
		limit int
		want  string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, ""},
		{"abcde", 4, "a..."},
		{"abcdef", 5, "ab..."},
		{"abcdef", -1, ""},
		{"a\u00e9bcdefgh", 10, "a\u00e9..."},
		{"\u00e9\u00e9", 12, "\u00e9\u00e9"},
		{"\u00e9\u00e9", 11, "\u00e9..."},
		{"\U0001f525abcdef", 14, ""},
		{"\U0001f525abcdef", 16, "\U0001f525a..."},
		{"ab\"\"\"\"", 8, "ab\"..."},
		{"abcdefg...", 9, "abcdef..."},
	} {
		if got := keepStart(tc.s, tc.limit); got != tc.want {
			t.Errorf("keepStart(%q, %d) = %q, want %q", tc.s, tc.limit, got, tc.want)
		}
	}
}

func TestKeepEnd(t *testing.T) {
	for _, tc := range []struct {
		s     string
		limit int
		want  string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abc", 2, "bc"},
		{"abc", 0, ""},
		{"abc", -7, ""},
		{"one\ntwo\nthree", 11, "two\nthree"},                  // \n takes two bytes
		{"one\ntwo\nthree", 10, "two\nthree"},                  // cut right after a newline
		{"one\ntwo\nthree", 9, "three"},                        // "wo" is not half of it: only whole lines
		{"one\na long last line", 18, "a long last line"},      // the newline is early
		{"a long first line\nx", 12, "irst line\nx"},           // the newline is late: keep the piece
		{"a long first line\n", 12, "first line\n"},            // nothing follows the newline
		{"a\u00e9bc", 8, "\u00e9bc"},                           // 6+2
		{"a\u00e9bc", 7, "bc"},                                 // never half a rune
		{"\U0001f525bc", 13, "bc"},                             // both halves of a pair or none
		{"a\xe2\x82bc", 9, "\x82bc"},                           // each stray byte counts by itself
		{"\xe2\x82\xac\xe2\x82\xacend", 10, "\xe2\x82\xacend"}, // 6+3
	} {
		if got := keepEnd(tc.s, tc.limit); got != tc.want {
			t.Errorf("keepEnd(%q, %d) = %q, want %q", tc.s, tc.limit, got, tc.want)
		}
	}
}

// Nothing shorter than the limit is ever touched, and with too much of one thing only that is cut.
func TestFitOrder(t *testing.T) {
	const limit = DefaultMessage
	long := strings.Repeat("0123456789", 1000)
	cutOff := func(s string) bool { return strings.HasSuffix(s, "...") }
	for name, tc := range map[string]struct {
		fill  func(*Message)
		check func(Message) bool
	}{
		"log": {
			func(m *Message) { m.LogTail = long },
			func(m Message) bool {
				return strings.HasSuffix(long, m.LogTail) && len(m.LogTail) > 800 &&
					m.RootCause.Evidence == full().RootCause.Evidence && m.Message == full().Message
			},
		},
		"log and evidence": {
			func(m *Message) { m.LogTail, m.RootCause.Evidence = long, long },
			func(m Message) bool {
				return m.LogTail == "" && cutOff(m.RootCause.Evidence) && len(m.RootCause.Evidence) > 800 &&
					m.Message == full().Message
			},
		},
		"log, evidence and message": {
			func(m *Message) { m.LogTail, m.RootCause.Evidence, m.Message = long, long, long },
			func(m Message) bool {
				return m.LogTail == "" && len(m.RootCause.Evidence) == 96 && cutOff(m.Message) && len(m.Message) > 800
			},
		},
		"message alone": {
			func(m *Message) { m.Message = long },
			func(m Message) bool { return m.LogTail == "" && cutOff(m.Message) && len(m.Message) > 700 },
		},
		"checkpoint path": {
			func(m *Message) { m.Checkpoint.Path = long + "/step_9" },
			func(m Message) bool {
				path := m.Checkpoint.Path
				return strings.HasPrefix(path, "...") && strings.HasSuffix(path, "9/step_9") && m.Job == "llama"
			},
		},
	} {
		m := full()
		tc.fill(&m)
		b := m.Encode(limit)
		if got := sound(t, m, limit, b); !tc.check(got) {
			t.Errorf("%s: %s", name, b)
		}
		// Only what has to go goes. A line of the log may be given up whole, and an escape is never split.
		if len(b) < limit-12 && name != "checkpoint path" {
			t.Errorf("%s: only %d of %d bytes used", name, len(b), limit)
		}
	}
}

// monster has too much of everything.
func monster(s string) Message {
	long := strings.Repeat(s, 10<<20/len(s))
	m := Message{
		Verdict: Preempted, Reason: long, Message: long, ExitCode: math.MinInt64, WorkerExitCode: new(math.MinInt64),
		Signal: long, Job: long, Node: long, Round: new(math.MinInt64), Rank: new(math.MinInt64),
		LocalRank: new(math.MinInt64), Role: long,
		RootCause: &RootCause{Node: long, Rank: new(math.MinInt64), Reason: long, ExitCode: new(math.MinInt64),
			Signal: long, At: time.Unix(1, 1e6), Rule: long, Evidence: long},
		Restarts:        &Restarts{math.MinInt64, math.MinInt64, math.MinInt64},
		Step:            new(int64(math.MinInt64)),
		Checkpoint:      &Checkpoint{Path: long, Step: new(int64(math.MinInt64)), AgeSeconds: -math.MaxFloat64 / 1e4},
		RecoverySeconds: -math.MaxFloat64 / 1e4,
		StartedAt:       time.Unix(1, 1e6), FinishedAt: time.Unix(1, 1e6), LogTail: long,
	}
	for i := range 100_000 {
		m.Hooks = append(m.Hooks, Hook{Name: long, ExitCode: -i})
	}
	return m
}

func TestFitMonster(t *testing.T) {
	for _, s := range []string{"x", "\x00", "\xff", "\n", "\u00e9", "\U0001f525"} {
		m := monster(s)
		for _, limit := range []int{-1, 0, 128, 129, 200, 255, 256, 300, 512, 700, 1024, 1500, 2048, 4096, 1 << 40} {
			sound(t, m, min(max(limit, 128), MaxMessage), m.Encode(limit))
		}
	}
}

// However much there is, what is not kept costs nothing.
func TestEncodeBoundsItsWork(t *testing.T) {
	m := monster("\xff")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m.Encode(MaxMessage)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d bytes allocated for a message of %d", got, MaxMessage)
	}
}

// With every field at its cap all of them fit DefaultMessage together: no field has to be dropped for another.
func TestFitKeepsEveryField(t *testing.T) {
	m := monster("x")
	got := sound(t, m, DefaultMessage, m.Encode(DefaultMessage))
	var keys []string
	var object map[string]json.RawMessage
	if err := json.Unmarshal(got.Encode(MaxMessage), &object); err != nil {
		t.Fatal(err)
	}
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	const want = "[checkpoint exitCode finishedAt hooks job localRank message node rank reason recoverySeconds restarts role " +
		"rootCause round signal startedAt step v verdict workerExitCode]"
	if fmt.Sprint(keys) != want {
		t.Errorf("kept\n%v, want\n%s", keys, want)
	}
	if len(got.Message) < 100 || len(got.RootCause.Evidence) < 50 {
		t.Errorf("message %q, evidence %q", got.Message, got.RootCause.Evidence)
	}
}

// What a smaller limit keeps, a larger one keeps too.
func TestFitIsMonotonic(t *testing.T) {
	m := full()
	m.Message, m.LogTail = strings.Repeat("m", 300), strings.Repeat("log\n", 100)
	before := 0
	for limit := MinMessage; limit <= DefaultMessage; limit++ {
		got := sound(t, m, limit, m.Encode(limit))
		var object map[string]json.RawMessage
		if err := json.Unmarshal(m.Encode(limit), &object); err != nil {
			t.Fatal(err)
		}
		if len(object) < before {
			t.Fatalf("limit %d keeps %d keys, a smaller one kept %d: %+v", limit, len(object), before, got)
		}
		before = len(object)
	}
}

func FuzzEncode(f *testing.F) {
	f.Add("Error", "it failed", "job", "evidence", "log\nlog", "hook", 1, 2048, int64(0))
	f.Add("\xff", "\u2028\x00", "\U0001f525", "\xed\xa0\x80", "\n\n\n", "\"", -1, 256, int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, reason, message, name, evidence, tail, hook string, code, limit int, nanos int64) {
		verdicts := []Verdict{Success, Retry, Fatal, Preempted, Suspended, Verdict(name)}
		m := Message{
			Verdict: verdicts[uint(code)%uint(len(verdicts))], Reason: reason, Message: message, ExitCode: code,
			WorkerExitCode: &code, Signal: hook, Job: name, Node: reason, Round: &code, Rank: &limit, LocalRank: &code,
			Role: hook, RootCause: &RootCause{Node: name, Rank: &code, Reason: reason, ExitCode: &code, Signal: name,
				At: time.Unix(0, nanos), Rule: hook, Evidence: evidence},
			Restarts: &Restarts{code, limit, code}, Step: &nanos,
			Checkpoint:      &Checkpoint{Path: evidence, Step: &nanos, AgeSeconds: math.Float64frombits(uint64(nanos))},
			RecoverySeconds: math.Float64frombits(uint64(nanos)), StartedAt: time.Unix(nanos, 0),
			FinishedAt: time.Unix(int64(code), nanos), Hooks: []Hook{{hook, code}, {name, 0}}, LogTail: tail,
		}
		got := sound(t, m, min(max(limit, 128), MaxMessage), m.Encode(limit))
		if utf8.ValidString(tail) && !strings.HasSuffix(tail, got.LogTail) {
			t.Fatalf("log %q is no end of %q", got.LogTail, tail)
		}
	})
}
