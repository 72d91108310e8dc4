package exitcodes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// full is a message with every key, within what fits DefaultMessage.
func full() Message {
	started := time.Date(2026, 3, 1, 10, 0, 0, 0, time.FixedZone("", 2*60*60))
	return Message{
		Verdict:        Retry,
		Reason:         "OOMKilled",
		Message:        "rank 3 on trainer-1 was killed by the kernel: 1 process was out of memory",
		ExitCode:       137,
		WorkerExitCode: new(0),
		Signal:         "SIGKILL",
		Job:            "llama",
		Node:           "trainer-0",
		Round:          new(0),
		Rank:           new(0),
		LocalRank:      new(0),
		Role:           "worker",
		RootCause: &RootCause{
			Node: "trainer-1", Rank: new(3), Reason: "OOMKilled", ExitCode: new(137), Signal: "SIGKILL",
			At:   started.Add(time.Hour + 123456*time.Microsecond),
			Rule: "cgroup-oom", Evidence: "memory.events: oom_kill 0 -> 1",
		},
		Restarts:        &Restarts{Used: 0, Max: 3, Preemptions: 0},
		Step:            new(int64(1200)),
		Checkpoint:      &Checkpoint{Path: "/ckpt/step_1000", Step: new(int64(1000)), AgeSeconds: 61.25},
		RecoverySeconds: 1.2344999,
		StartedAt:       started,
		FinishedAt:      started.Add(time.Hour + 2*time.Second),
		Hooks:           []Hook{{Name: "upload", ExitCode: 0}, {Name: "notify", ExitCode: 7}},
		LogTail:         "step 1199\nstep 1200\nKilled\n",
	}
}

// asRead is what a message looks like when it has been written whole and read back.
func asRead(m Message) Message {
	m.V = 1
	m.RecoverySeconds = milli(m.RecoverySeconds)
	m.StartedAt, m.FinishedAt = instant(m.StartedAt), instant(m.FinishedAt)
	if m.RootCause != nil {
		cause := *m.RootCause
		cause.At = instant(cause.At)
		m.RootCause = &cause
	}
	return m
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "message", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want = bytes.TrimSuffix(want, []byte("\n")); !bytes.Equal(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", name, got, want)
	}
}

func TestEncodeGolden(t *testing.T) {
	hard := Message{
		Verdict: Fatal, Reason: "Error", ExitCode: 1,
		Message: "quote \" backslash \\ tab\t nul\x00 esc\x1b del\x7f c1\u0085 <&> caf\u00e9 \U0001f525 bad\xff\xc3 sep\u2028",
		LogTail: "line\r\n\xe2\x82",
	}
	huge := full()
	huge.Message = strings.Repeat("why ", 3000)
	huge.RootCause.Evidence = strings.Repeat("because ", 3000)
	huge.LogTail = strings.Repeat("one line of the log\n", 3000)
	tall := full()
	for i := range 400 {
		tall.LogTail += fmt.Sprintf("epoch %d loss %d\n", i, 1000-i)
	}
	for name, tc := range map[string]struct {
		message Message
		limit   int
	}{
		"full":     {full(), DefaultMessage},
		"zero":     {Message{}, DefaultMessage},
		"success":  {Message{Verdict: Success, Reason: "Succeeded"}, DefaultMessage},
		"hard":     {hard, DefaultMessage},
		"tail":     {tall, DefaultMessage},
		"huge2048": {huge, 2048},
		"huge1024": {huge, 1024},
		"huge768":  {huge, 768},
		"huge512":  {huge, 512},
		"huge256":  {huge, 256},
		"huge128":  {huge, 0},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name+".json", tc.message.Encode(tc.limit))
		})
	}
}

func TestEncodeKeys(t *testing.T) {
	// The keys and their order are a promise; the struct could be changed by accident.
	const want = "v verdict reason message exitCode workerExitCode signal job node round rank localRank role rootCause " +
		"restarts step checkpoint recoverySeconds startedAt finishedAt hooks logTail"
	var got []string
	for field := range reflect.TypeFor[Message]().Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		got = append(got, key)
	}
	if strings.Join(got, " ") != want {
		t.Errorf("keys are\n%s, want\n%s", got, want)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(full().Encode(MaxMessage), &object); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields(want) {
		if _, ok := object[key]; !ok {
			t.Errorf("%q is missing from a message that has everything", key)
		}
	}
}

func TestEncodeLeavesOutWhatJSONCannotHold(t *testing.T) {
	m := Message{
		RecoverySeconds: math.NaN(),
		StartedAt:       time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC),
		FinishedAt:      time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC),
		RootCause:       &RootCause{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.FixedZone("", -60*60))},
		Checkpoint:      &Checkpoint{AgeSeconds: math.Inf(1)},
	}
	want := `{"v":1,"verdict":"","exitCode":0,"rootCause":{},"checkpoint":{}}`
	if got := string(m.Encode(DefaultMessage)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEncodeLeavesTheMessageAlone(t *testing.T) {
	long := strings.Repeat("x", 5000)
	m := full()
	m.Message, m.RootCause.Evidence, m.RootCause.Node, m.Checkpoint.Path = long, long, long, long
	m.Hooks = append(m.Hooks, Hook{Name: long, ExitCode: 1})
	before, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	m.Encode(MinMessage)
	after, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("Encode changed the message it was given")
	}
}
