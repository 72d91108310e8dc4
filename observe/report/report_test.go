package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// teller tells what one gangrun does. Times are seconds since noon.
type teller struct {
	source, node, run string
	seq               int64
	round             *int
	events            []event.Event
}

func (w *teller) add(second float64, e event.Event) {
	w.seq++
	e.V, e.ID, e.Seq, e.Source = 1, fmt.Sprintf("%s-%d", w.source, w.seq), w.seq, w.source
	e.At = event.Time(noon.Add(time.Duration(second * float64(time.Second))))
	e.Job, e.Node, e.Run, e.Round = "j", w.node, w.run, w.round
	w.events = append(w.events, e)
}

func (w *teller) start(second float64) {
	w.add(second, event.Event{Type: event.RunStarted, Started: &event.Started{Version: "v", MaxRestarts: 3}})
}

func (w *teller) begin(second float64, round int, from *int64, restart *event.Restart) {
	w.round, w.run = &round, "u"
	began := &event.Began{Restart: restart, StartsOver: from == nil}
	if from != nil {
		began.Resume = &event.Resume{Path: "/c", Step: from}
	}
	w.add(second, event.Event{Type: event.RoundBegan, Began: began})
	w.add(second+1, event.Event{Type: event.RoundRunning, Running: &event.Running{Workers: 8}})
}

func (w *teller) step(second float64, n int64) {
	w.add(second, event.Event{Type: event.Progress, Step: &n})
}

func (w *teller) fail(second float64, by event.By, cause *event.Failed) {
	w.add(second, event.Event{Type: event.RoundStopping, Stopping: &event.Stopping{By: by, Why: "why"}})
	if cause != nil {
		w.add(second, event.Event{Type: event.WorkerFailed, Failed: cause})
	}
	w.add(second+1, event.Event{Type: event.RoundEnded, RoundEnd: &event.RoundEnd{Verdict: exitcodes.Retry}})
}

func (w *teller) succeed(second float64) {
	w.add(second, event.Event{Type: event.RoundStopping, Stopping: &event.Stopping{By: event.ByWorker}})
	w.add(second, event.Event{Type: event.RoundEnded, RoundEnd: &event.RoundEnd{Verdict: exitcodes.Success}})
	w.add(second+1, event.Event{Type: event.RunEnded, End: &event.End{Verdict: exitcodes.Success, Reason: "Succeeded"}})
}

func step(n int64) *int64 { return &n }

// job is two nodes. b fails for memory; then a is lost, comes back 20 s later, and both succeed. A step takes a second.
func job() []event.Event {
	oom := &event.Restart{Kind: event.Failure, Reason: "OOMKilled"}
	lost := &event.Restart{Kind: event.Failure, Reason: "NodeLost"}
	a := &teller{source: "a1", node: "a"}
	a.start(0)
	a.begin(2, 0, nil, nil)
	a.step(10, 0)
	a.step(50, 40)
	a.fail(51, event.ByJob, nil)
	a.begin(54, 1, step(30), oom)
	a.step(60, 30)
	a.step(80, 50) // and then it is gone
	again := &teller{source: "a2", node: "a"}
	again.start(100)
	again.begin(102, 2, step(50), nil)
	again.step(110, 50)
	again.step(120, 60)
	again.succeed(120)
	b := &teller{source: "b", node: "b"}
	b.start(0)
	b.begin(2, 0, nil, nil)
	b.step(10, 0)
	b.step(50, 40)
	b.fail(50, event.ByWorker, &event.Failed{
		Reason: "OOMKilled", Message: "<script>alert(1)</script>\x1b[2J\u202e", At: noon.Add(50 * time.Second), Cause: true,
	})
	b.begin(54, 1, step(30), oom)
	b.step(60, 30)
	b.step(80, 50)
	b.fail(90, event.ByJob, nil)
	b.begin(102, 2, step(50), lost)
	b.step(110, 50)
	b.step(120, 60)
	b.succeed(120)
	return slices.Concat(a.events, again.events, b.events)
}

// TestWhoseFailure: where several nodes each have a cause of their own, the one counts that the job has blamed, whoever was
// first, also one that is gone and has left none; without its word the earliest does.
func TestWhoseFailure(t *testing.T) {
	for blamed, want := range map[string]string{"b": "b", "": "a", "d": "d tells no cause of its own; a: a"} {
		node := strings.Fields(want)[0]
		var events []event.Event
		for i, name := range []string{"a", "b", "c"} {
			w := &teller{source: name, node: name}
			w.start(0)
			w.begin(2, 0, nil, nil)
			w.step(10, 0)
			w.fail(50+float64(i), event.ByHealth, &event.Failed{
				Reason: "Hang", Message: name, At: noon.Add(time.Duration(50+i) * time.Second), Cause: true,
			})
			w.begin(60, 1, nil, &event.Restart{Kind: event.Failure, Reason: "Hang", Node: blamed})
			w.step(70, 0)
			w.succeed(80)
			events = append(events, w.events...)
		}
		r := build(t, events)
		if len(r.Disruptions) != 1 || r.Disruptions[0].Node != node || r.Disruptions[0].Why != want || len(r.Blamed) != 1 || r.Blamed[0].Node != node {
			t.Errorf("%q is blamed: %+v, %+v", blamed, r.Disruptions, r.Blamed)
		}
	}
}

func build(t *testing.T, events []event.Event) *Report {
	t.Helper()
	r, err := Build(events, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.balanced(t)
	return r
}

// balanced: every second of every node is accounted for, once.
func (r *Report) balanced(t *testing.T) {
	t.Helper()
	check := func(what string, n Time) {
		sum := n.Productive + n.Pending
		for _, seconds := range n.Badput {
			sum += seconds
		}
		if math.Abs(sum-n.NodeTime) > 0.05 {
			t.Errorf("%s: %v s of %v are accounted for", what, sum, n.NodeTime)
		}
	}
	check("all", r.Time)
	for _, n := range r.Nodes {
		check(n.Node, n.Time)
	}
}

func TestTwoNodes(t *testing.T) {
	r := build(t, job())
	if r.Elapsed != 121 || r.NodeTime != 242 || !r.Over || r.Rounds != 3 || *r.Step != 60 || *r.StepMax != 60 ||
		r.StepTime != 1 {
		t.Errorf("%+v", r)
	}
	// Each node made 70 steps, of which 10 had to be made again on b. a's second gangrun does not know of the first.
	if r.Productive != 120 || r.Training != 140 || r.Badput[account.LostProgress] != 20+1+1 ||
		r.Badput[account.Idle] != 20 {
		t.Errorf("productive %v, training %v, badput %v", r.Productive, r.Training, r.Badput)
	}
	if len(r.Disruptions) != 2 || len(r.Nodes) != 2 || r.Nodes[0].Processes != 2 {
		t.Fatalf("%+v", r)
	}
	if r.Nodes[0].Elapsed != 80+21 || r.Nodes[1].Elapsed != 121 {
		t.Errorf("a gangrun ran for %v s on a, and for %v s on b", r.Nodes[0].Elapsed, r.Nodes[1].Elapsed)
	}
	oom, lost := r.Disruptions[0], r.Disruptions[1]
	if oom.Round != 0 || oom.Reason != "OOMKilled" || oom.Node != "b" || oom.Cause == nil || *oom.LostSteps != 10 ||
		!oom.At.Equal(noon.Add(50*time.Second)) || oom.Cost[account.LostProgress] != 21 || oom.Longest >= oom.Total {
		t.Errorf("%+v", oom)
	}
	if lost.Round != 1 || lost.Reason != "NodeLost" || lost.Cause != nil || *lost.LostSteps != 0 ||
		lost.Cost[account.Detection] != 9 {
		t.Errorf("%+v", lost)
	}
	if len(r.Causes) != 2 || len(r.Blamed) != 1 || r.Blamed[0].Node != "b" {
		t.Errorf("%+v %+v", r.Causes, r.Blamed)
	}
	if len(r.Problems) != 0 { // a's first gangrun has no end, but its second has
		t.Errorf("%v", r.Problems)
	}
	w := r.Words.Google
	sum := 0.0
	for _, v := range w {
		sum += v
	}
	if w["GOODPUT"] != r.Productive || math.Abs(sum-r.NodeTime) > 0.05 || r.Words.NVIDIA["interruptionCount"] != 2 {
		t.Errorf("%+v", r.Words)
	}
}

// TestContinued: a gangrun that comes after another one on its node continues its training. What it does not
// resume from is lost; after a success it is another training run.
func TestContinued(t *testing.T) {
	told := func(v exitcodes.Verdict) []event.Event {
		first := &teller{source: "x", node: "a"}
		first.start(0)
		first.begin(0, 0, nil, nil)
		first.step(1, 0)
		first.step(41, 40)
		first.fail(41, event.ByWorker, nil)
		first.add(43, event.Event{Type: event.RunEnded, End: &event.End{Verdict: v, Reason: "x"}})
		second := &teller{source: "b", node: "a"}
		second.start(50)
		second.begin(50, 0, step(10), nil)
		second.step(51, 10)
		second.step(61, 20)
		second.succeed(61)
		return slices.Concat(first.events, second.events)
	}
	if r := build(t, told(exitcodes.Retry)); r.Productive != 20 || r.Badput[account.LostProgress] != 30 ||
		r.Badput[account.Idle] != 7 {
		t.Errorf("%+v", r.Time)
	}
	if r := build(t, told(exitcodes.Success)); r.Productive != 50 || r.Badput[account.LostProgress] != 0 {
		t.Errorf("%+v", r.Time)
	}
}

// TestOrder: the report does not depend on the order in which files are named, nor on events that come twice.
func TestOrder(t *testing.T) {
	want, _ := json.Marshal(build(t, job()))
	events := slices.Concat(job(), job())
	slices.Reverse(events)
	got, _ := json.Marshal(build(t, events))
	if !bytes.Equal(got, want) {
		t.Errorf("%s\nis not\n%s", got, want)
	}
}

// TestMissing says what is missing, and reports the rest.
func TestMissing(t *testing.T) {
	events := job()
	r := build(t, append(slices.Clone(events[3:5]), events[7:]...))
	all := strings.Join(r.Problems, "\n")
	if !strings.Contains(all, "a: what was before") || !strings.Contains(all, "a: 5 events are missing") {
		t.Errorf("%s", all)
	}
}

func TestNone(t *testing.T) {
	if _, err := Build(nil, nil); err == nil {
		t.Error("a report of nothing")
	}
	events := job()
	events[3].Job = "other"
	if _, err := Build(events, nil); err == nil || !strings.Contains(err.Error(), `["j" "other"]`) {
		t.Errorf("two jobs: %v", err)
	}
}

// TestText is what a person sees: no control character of a worker's comes through.
func TestText(t *testing.T) {
	var b bytes.Buffer
	build(t, job()).Text(&b)
	golden(t, "text", b.Bytes())
	if strings.ContainsAny(b.String(), "\x1b\u202e") {
		t.Errorf("%q", b.String())
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s (UPDATE_GOLDEN=1 rewrites it): %v\n%s", path, err, got)
	}
}

// TestHTML is one whole page that needs nothing else, and in which what comes from a worker is text.
func TestHTML(t *testing.T) {
	var b bytes.Buffer
	if err := build(t, job()).HTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<script", "http:", "https:", "src=", "\x1b", "\u202e", "ZgotmplZ", "NaN"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"&lt;script&gt;", "OOMKilled", "default-src 'none'", "<polyline", `class="running"`,
		"prefers-color-scheme"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break
		}
	}
}

// TestRead reads older files, too, and each event once.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	events := job()
	var lines [][]byte
	for _, e := range events {
		lines = append(lines, e.Encode())
	}
	for name, content := range map[string][][]byte{"": lines[20:], ".1": lines[10:20], ".2": lines[:10]} {
		if err := os.WriteFile(path+name, bytes.Join(content, nil), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in := bytes.NewReader(append(bytes.Join(lines[5:15], nil), "nonsense\n"...))
	read, problems, err := Read([]string{path, path + ".1", "-"}, in)
	if err != nil || len(read) != len(events) || len(problems) != 1 ||
		!strings.HasPrefix(problems[0], "standard input:11: ") {
		t.Errorf("%d events of %d, %v, %v", len(read), len(events), problems, err)
	}
	if _, _, err := Read([]string{path + ".none"}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
