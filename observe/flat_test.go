package observe_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/observe"
	"github.com/gangrun/gangrun/observe/file"
	"github.com/gangrun/gangrun/observe/metrics"
	"github.com/gangrun/gangrun/observe/record"
	"github.com/gangrun/gangrun/observe/serve"
	"github.com/gangrun/gangrun/observe/webhook"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/node"
)

// grows is by how many bytes the heap may differ between two looks: about 50 for each of 7,500 restarts. What is kept of
// the latest, thinned out now and then, is 200 KiB more or less.
const grows = 384 << 10

// TestFlat restarts a job ten thousand times and lets it train a million steps, all the time with new reasons, names and
// sentences, with everything on: events to a file that is rotated and to a receiver that is gone, metrics that are
// scraped, a page that somebody looks at. The heap is as large at the end as after a quarter of it.
func TestFlat(t *testing.T) {
	restarts, steps := 10_000, 100 // of each round
	if testing.Short() {
		restarts = 1_000
	}
	w := flat(t)
	for round := range restarts / 4 {
		w.round(round, steps)
	}
	before := heap()
	for round := restarts / 4; round < restarts; round++ {
		w.round(round, steps)
	}
	after := heap()
	t.Logf("%d restarts, %d steps: %d KiB; %d restarts, %d steps: %d KiB", restarts/4, restarts/4*steps, before>>10,
		restarts, restarts*steps, after>>10)
	if after > before+grows {
		t.Errorf("the heap grows by %d KiB, want %d at most", (after-before)>>10, grows>>10)
	}
	if s := w.hub.At(w.now); s.Restarts.Total != restarts-1 || *s.StepMax != int64(restarts*steps) || len(s.Disruptions) == 0 {
		t.Errorf("%+v", s)
	}
	if all, _ := filepath.Glob(w.events + "*"); len(all) != 1+file.Older {
		t.Errorf("files of events: %q", all)
	}
}

// heap is the least that is in use within a second: what waits for the disk, or is on its way to a reader, goes by itself.
func heap() int64 {
	least := int64(math.MaxInt64)
	for range 20 {
		runtime.GC()
		runtime.GC() // what a pool held for the first
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, int64(m.HeapAlloc))
		time.Sleep(50 * time.Millisecond)
	}
	return least
}

// watched is a node of which nothing is real but what shows it.
type watched struct {
	t      *testing.T
	hub    *observe.Hub
	now    time.Time
	events string
	page   string
	step   atomic.Int64 // the page asks, too
}

func flat(t *testing.T) *watched {
	t.Helper()
	w := &watched{t: t, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), events: filepath.Join(t.TempDir(), "events")}
	log := slog.New(slog.DiscardHandler)
	written := file.Open(w.events, 256<<10, log)
	gone := webhook.New(webhook.Config{URL: "http://127.0.0.1:1/", Log: log}) // nobody listens there
	feed := serve.NewFeed(w.job)
	w.hub = observe.New(record.Config{Source: "s", Version: "v1", Job: "j", Node: "n", MaxRestarts: 3, StartedAt: w.now},
		written.Take, gone.Take, feed.Take)
	registry := metrics.Registry(metrics.Config{
		Version: "v1", Go: "go", Look: w.hub.Look, Now: func() time.Time { return w.now },
		Dropped: map[string]func() int64{"file": written.Dropped, "webhook": gone.Dropped},
	})
	server, err := serve.Listen("127.0.0.1:0", serve.Config{
		Metrics: registry, At: w.hub.At, Alive: func() bool { return true }, Feed: feed, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.page = "http://" + server.Addr().String()
	t.Cleanup(func() {
		server.Close()
		_ = gone.Close(0) // nobody has taken them
		if err := written.Close(10 * time.Second); err != nil {
			t.Error(err)
		}
	})
	w.look()
	return w
}

// look reads what the page is shown, for as long as there is any.
func (w *watched) look() {
	w.t.Helper()
	answer, err := http.Get(w.page + "/events")
	if err != nil {
		w.t.Fatal(err)
	}
	crash.Go(func() {
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, bufio.NewReaderSize(answer.Body, 4096)) // it ends with the server
	})
}

// job is what the record says: another node each time has stopped the round before.
func (w *watched) job() *serve.Job {
	n := int(w.step.Load() / 100)
	r := &rendezvous.Round{Number: n}
	for i := range 8 {
		r.Members = append(r.Members, rendezvous.Member{Name: fmt.Sprintf("node-%05d", n+i), Slots: 8})
	}
	return serve.JobOf(&rendezvous.Job{Phase: rendezvous.Running, Round: n, Spec: rendezvous.DefaultSpec(8)}, r, nil, "n")
}

func (w *watched) tell(ev node.Event, effects ...node.Effect) { w.hub.Observe(w.now, ev, effects) }

// round trains so many steps of a second each, with a save, a slow rank and a failure of a reason that was not there before.
func (w *watched) round(number, steps int) {
	reason := fmt.Sprintf("Reason%05d", number) // as long as any other
	words := strings.Repeat(fmt.Sprintf("<b>%05d</b> ", number), 40)
	from := w.step.Load()
	w.tell(node.Budget{Budget: rendezvous.Budget{Used: 1, Total: number, Cause: fmt.Sprintf("Reason%05d/x", number-1)}})
	w.tell(node.Begin{Run: "r", Round: number, Path: fmt.Sprintf("/c/%07d", from), Step: &from, Looked: true, Banned: []string{"host" + reason}},
		node.Prepare{})
	w.tell(node.Prepared{Workers: []node.Worker{{Rank: number}, {Rank: number + 1}}})
	w.tell(node.Forked{Worker: 0})
	w.tell(node.Forked{Worker: 1})
	for i := range steps {
		w.now = w.now.Add(time.Second)
		step := w.step.Add(1)
		behind := step - 1
		w.tell(node.Reported{{Step: &step, Saving: i == steps/2}, {Step: &behind}})
	}
	last := w.step.Load()
	w.tell(node.Reported{{Step: &last}, {Step: &last}})
	w.tell(node.Saved{Path: fmt.Sprintf("/c/%07d", last), Step: last, Modified: w.now})
	w.tell(node.Straggles{Rank: number, Late: 9, Steps: 10, Excess: time.Second, Step: time.Second})
	finding := exitcodes.Finding{
		Verdict: exitcodes.Retry, Reason: reason, Message: words, Evidence: words, Rule: "rule" + reason, Rank: number, At: w.now,
		Output: []byte(strings.Repeat(words+"\n", 20)),
	}
	w.tell(node.Tick{}, node.Concluded{Findings: []exitcodes.Finding{finding, finding}, Stops: make([]exitcodes.Stop, 2)})
	w.tell(node.Tick{}, node.Gone{Round: number, Outcome: rendezvous.Outcome{Verdict: exitcodes.Retry, Reason: reason}})
	if number%50 == 0 {
		w.scrape()
	}
}

func (w *watched) scrape() {
	w.t.Helper()
	for _, path := range []string{"/metrics", "/status"} {
		answer, err := http.Get(w.page + path)
		if err != nil {
			w.t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		if answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
			w.t.Fatal(answer.Status, err)
		}
	}
}
