// Package page_test looks at the page of a run with a real browser: in four sizes and both themes, with what a hostile
// name or a thousand nodes make of it. GANGRUN_TEST_PICTURES=DIR keeps the pictures.
package page_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/observe/serve"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/test/harness"
)

func TestMain(m *testing.M) {
	harness.ClearEnvironment()
	os.Exit(m.Run())
}

const hostile = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>\x1b[2J\u202e"

// story is a run that is served, and told in events. Times are seconds since its start.
type story struct {
	mu    sync.Mutex
	tally account.Tally
	feed  *serve.Feed
	job   *serve.Job
	start time.Time
	now   float64
	seq   int64
	round int
	node  string
}

func (s *story) tell(second float64, typ event.Type, change func(*event.Event)) {
	s.mu.Lock()
	s.seq++
	s.now = max(s.now, second)
	round := s.round
	e := event.Event{
		V: 1, ID: fmt.Sprint("s-", s.seq), Seq: s.seq, Source: "s", Job: "llama-7b", Node: s.node, Run: "u", Type: typ,
		At: event.Time(s.start.Add(time.Duration(second * float64(time.Second)))), Round: &round,
	}
	if typ == event.RunStarted {
		e.Round = nil
	}
	if change != nil {
		change(&e)
	}
	s.tally.Add(e)
	s.mu.Unlock()
	s.feed.Take([]event.Event{e})
}

func (s *story) at(time.Time) account.Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.tally.At(s.start.Add(time.Duration(s.now * float64(time.Second))))
	if sum.Phase == account.Running {
		rank := 3
		sum.Behind = &account.Behind{Rank: &rank, Steps: 2}
	}
	return sum
}

// serve starts the server.
func (s *story) serve(t *testing.T) string {
	t.Helper()
	s.start = time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	s.feed = serve.NewFeed(func() *serve.Job { s.mu.Lock(); defer s.mu.Unlock(); return s.job })
	server, err := serve.Listen("127.0.0.1:0", serve.Config{
		Metrics: prometheus.NewRegistry(), At: s.at, Alive: func() bool { return true }, Feed: s.feed,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return "http://" + server.Addr().String() + "/"
}

// trains runs a round from one step to another, with checkpoints, and returns when it is over.
func (s *story) trains(from, seconds float64, first, last int64, began event.Began, job *serve.Job) float64 {
	s.mu.Lock()
	s.job = job
	s.mu.Unlock()
	s.tell(from, event.RoundBegan, func(e *event.Event) { e.Began = &began })
	s.tell(from+3, event.RoundRunning, func(e *event.Event) { e.Running = &event.Running{Workers: 8} })
	for n := range 51 {
		i := float64(n) / 50
		step := first + int64(i*float64(last-first))
		at := from + 15 + i*(seconds-15)
		s.tell(at, event.Progress, func(e *event.Event) { e.Step = &step })
		if n%10 == 9 {
			s.tell(at, event.CheckpointSaved, func(e *event.Event) {
				e.Checkpoint = &event.Checkpoint{Path: "/checkpoints", Step: step, Modified: e.At}
			})
		}
	}
	return from + seconds
}

func (s *story) fails(at float64, f *event.Failed, by event.By, why string) {
	s.tell(at, event.RoundStopping, func(e *event.Event) { e.Stopping = &event.Stopping{By: by, Why: why} })
	if f != nil {
		f.At = s.start.Add(time.Duration(at * float64(time.Second)))
		s.tell(at+1, event.WorkerFailed, func(e *event.Event) { e.Failed = f })
	}
	s.tell(at+8, event.RoundEnded, func(e *event.Event) {
		e.RoundEnd = &event.RoundEnd{Workers: event.Ends{Stopped: 7, Failed: 1}}
		if f != nil {
			e.RoundEnd.Verdict, e.RoundEnd.Reason = f.Verdict, f.Reason
		}
	})
}

// members is the record of a job whose newest round has so many.
func (s *story) members(n, round int, stops ...serve.Stop) *serve.Job {
	r := &rendezvous.Round{Number: round}
	for i := range n {
		name := fmt.Sprint("node", i)
		if i == 2 {
			name = hostile
		}
		r.Members = append(r.Members, rendezvous.Member{Name: name, Slots: 8})
	}
	had := int64(3250)
	j := &rendezvous.Job{
		Phase: rendezvous.Running, Since: s.start, Round: round, Spec: rendezvous.DefaultSpec(n), Reached: &had,
		Bans: []rendezvous.Ban{{Host: "gpu-7", Until: s.start.Add(9 * time.Hour), Last: rendezvous.Fault{
			Round: 1, Node: hostile, Reason: "NodeLost", Message: "nothing has been heard of it", At: s.start,
		}}},
	}
	for i := range stops {
		j.History = append(
			j.History,
			rendezvous.Past{
				Round:  stops[i].Round,
				Kind:   stops[i].Kind,
				Node:   stops[i].Node,
				Reason: stops[i].Reason,
				At:     stops[i].At,
			},
		)
	}
	return serve.JobOf(j, r, s.reached(r), s.node)
}

// reached is how far the nodes have come: all but one are level.
func (s *story) reached(r *rendezvous.Round) map[string]*rendezvous.Reached {
	all := map[string]*rendezvous.Reached{}
	for i, m := range r.Members {
		step := int64(3700)
		if i == 1 {
			step = 3697
		}
		all[m.Name] = &rendezvous.Reached{Round: r.Number, Step: &step, Phase: "train"}
	}
	return all
}

// told is a run of some hours, with three interruptions.
func (s *story) told(n int) {
	s.node = "node0"
	ptr := func(v int64) *int64 { return &v }
	restart := func(reason string, kind event.Kind, used int, from int64) event.Began {
		return event.Began{
			Restart: &event.Restart{
				Kind:   kind,
				Reason: reason,
			}, Restarts: event.Restarts{Used: used, Max: 3, Total: used},
			Resume: &event.Resume{Path: "/checkpoints", Step: &from}, LostSteps: ptr(40),
		}
	}
	s.tell(0, event.RunStarted, func(e *event.Event) { e.Started = &event.Started{Version: "v1", MaxRestarts: 3} })
	over := s.trains(30, 3000, 0, 1500, event.Began{Restarts: event.Restarts{Max: 3}, StartsOver: true},
		s.members(n, 0))
	zero, three := 0, 3
	s.fails(over, &event.Failed{
		Verdict: exitcodes.Retry, Reason: "OOMKilled", Message: "rank 0 was killed by SIGKILL", Rank: &zero,
		Signal: "SIGKILL", Rule: "kernel.oom",
		Evidence: "1 kill for memory in the container's control group", Cause: true,
	}, event.ByWorker, "rank 0 was ended by SIGKILL")
	stop := func(at float64) time.Time { return s.start.Add(time.Duration(at * float64(time.Second))) }
	first := serve.Stop{Round: 0, Kind: "failure", Node: "node0", Reason: "OOMKilled", At: stop(over)}
	s.round = 1
	over = s.trains(over+20, 2500, 1400, 2600, restart("OOMKilled", event.Failure, 1, 1400), s.members(n, 1, first))
	s.fails(over, nil, event.ByJob, "a node was lost: "+hostile)
	second := serve.Stop{Round: 1, Kind: "loss", Node: hostile, Reason: "NodeLost", At: stop(over)}
	s.round = 2
	over = s.trains(over+90, 1800, 2450, 3300, restart("NodeLost", event.Failure, 1, 2450),
		s.members(n, 2, first, second))
	s.fails(over, &event.Failed{
		Verdict: exitcodes.Retry, Reason: "NCCLTimeout", Message: "rank 3 exited with 1: " + hostile, Rank: &three,
		Rule: "nccl.timeout", LastWords: "step 3300 loss 2.71\n" + hostile + "\n[rank3]: Watchdog caught collective operation timeout",
		Evidence: "[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1174, OpType=ALLREDUCE) ran for 600001 milliseconds", Cause: true,
	}, event.ByWorker, "rank 3 exited with 1")
	third := serve.Stop{Round: 2, Kind: "failure", Node: "node0", Reason: "NCCLTimeout", At: stop(over)}
	s.round = 3
	over = s.trains(over+12, 900, 3250, 3700, restart("NCCLTimeout", event.Failure, 2, 3250),
		s.members(n, 3, first, second, third))
	for rank, excess := range map[int]float64{3: 0.42, 5: 0.1} {
		s.tell(over, event.StragglerFound, func(e *event.Event) {
			e.Straggler = &event.Straggler{Rank: rank, Late: 43, Steps: 50, ExcessSeconds: excess, StepSeconds: 2, By: event.ByArrival}
		})
	}
}

// TestLooksRight draws the page in all sizes and both themes; some of them, where time is short. Nothing complains, nothing sticks out, all controls have
// names, and text is text.
func TestLooksRight(t *testing.T) {
	b := open(t)
	for _, nodes := range []int{3, 1024} {
		s := &story{}
		address := s.serve(t)
		s.told(nodes)
		for _, size := range []struct {
			name          string
			width, height int
		}{{"phone", 360, 800}, {"tablet", 820, 1180}, {"desk", 1440, 900}, {"wall", 3840, 2160}} {
			for _, theme := range []string{"light", "dark"} {
				if sample := size.name == "phone" || size.name == "wall"; testing.Short() && (!sample ||
					(theme == "dark") != (nodes == 3)) {
					continue
				}
				t.Run(fmt.Sprintf("%d-%s-%s", nodes, size.name, theme), func(t *testing.T) {
					outer := b.t
					b.t, b.complaints = t, nil
					defer func() { b.t = outer }()
					b.do(
						"Emulation.setDeviceMetricsOverride",
						map[string]any{
							"width":             size.width,
							"height":            size.height,
							"deviceScaleFactor": 1,
							"mobile":            size.width < 600,
						},
						nil,
					)
					b.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
						{
							"name":  "prefers-color-scheme",
							"value": theme,
						}, {"name": "prefers-reduced-motion", "value": "reduce"},
					}}, nil)
					b.do("Page.navigate", map[string]any{"url": address}, nil)
					b.until(`document.body.dataset.shown && document.querySelector("#rows .track i")`)
					b.looksRight(theme)
					b.picture(fmt.Sprintf("%d-nodes-%s-%s", nodes, size.name, theme))
				})
			}
		}
	}
}

// looksRight checks what can be checked of what is drawn.
func (b *browser) looksRight(theme string) {
	b.t.Helper()
	if wide := b.eval(`document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide != 0.0 {
		b.t.Errorf("%v pixels stick out on the right", wide)
	}
	if wide := b.eval(`(e => e.scrollWidth - e.clientWidth)(document.querySelector(".scroll"))`); wide != 0.0 {
		b.t.Errorf("%v pixels of the interruptions are out of sight", wide)
	}
	if dark := b.eval(`parseInt(getComputedStyle(document.body).backgroundColor.slice(4)) < 100`); dark != (theme == "dark") {
		b.t.Errorf("dark: %v", dark)
	}
	if title := b.eval("document.title"); title != "step 3700, running: llama-7b" {
		b.t.Errorf("title %v", title)
	}
	text := fmt.Sprint(b.eval("document.body.innerText"))
	for _, want := range []string{"3700", "OOMKilled", "NCCLTimeout", "Watchdog caught collective", "<script>",
		"rank 3", "2 of 3", "round 3", "step 3300 loss 2.71", "Restarted, charged to the restart budget",
		"The others wait for rank 3: its steps take 420\u00a0ms longer, of 2.0\u00a0s, in 43 of the last 50; slow, too: rank 5.",
		"host gpu-7 until 2026-01-01 18:00:00 UTC", "from 3697 (node1) to 3700", "step 3250 is the newest that all nodes had"} {
		if !strings.Contains(text, want) {
			b.t.Errorf("no %q in %s", want, text)
		}
	}
	if n := b.eval(`document.querySelectorAll("img, iframe, script:not(:last-of-type)").length`); n != 0.0 {
		b.t.Errorf("%v elements that are none of the page's own", n)
	}
	if moves := b.eval(`[...document.querySelectorAll("*")].filter(e => getComputedStyle(e).transitionDuration !== "0s").length`); moves != 0.0 {
		b.t.Errorf("%v elements move", moves)
	}
	low := b.eval(contrast)
	if list, _ := low.([]any); len(list) > 0 {
		b.t.Errorf("too little contrast: %v", list)
	}
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name struct{ Value any }
		}
	}
	b.do("Accessibility.getFullAXTree", nil, &tree)
	controls := 0
	for _, node := range tree.Nodes {
		switch role := node.Role.Value; role {
		case "button", "combobox", "link", "image", "region", "checkbox":
			if controls++; !node.Ignored && (node.Name.Value == nil || node.Name.Value == "") {
				b.t.Errorf("a %s without a name", role)
			}
		}
	}
	if controls < 5 {
		b.t.Errorf("only %d controls", controls)
	}
	for _, c := range b.complaints {
		if !strings.Contains(c, "favicon.ico") {
			b.t.Error(c)
		}
	}
}

// contrast lists texts with less than the 4.5 to 1 that the Web Content Accessibility Guidelines ask for.
const contrast = `(() => {
	const parse = c => c.match(/[\d.]+/g).map(Number);
	const part = v => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
	const lum = c => { const [r, g, b] = parse(c).map(part); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = e => {
		for (; e; e = e.parentElement) {
			const c = getComputedStyle(e).backgroundColor, p = parse(c);
			if (p.length < 4 || p[3] > 0) return c;
		}
		return "rgb(255,255,255)";
	};
	const low = [];
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
		if (!e.offsetParent || e.closest("noscript")) continue;
		const a = lum(getComputedStyle(e).color), b = lum(behind(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) low.push([e.tagName, e.className, e.textContent.slice(0, 20), ratio.toFixed(2)].join(" "));
	}
	return low;
})()`

// picture keeps what is seen, down to the end of the page.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("GANGRUN_TEST_PICTURES")
	if dir == "" {
		return
	}
	var out struct{ Data string }
	b.do("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &out)
	data, err := base64.StdEncoding.DecodeString(out.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestRun is the page of a real run, which fails once and goes on while somebody looks.
func TestRun(t *testing.T) {
	b := open(t)
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listen.Addr().String()
	listen.Close()
	train := filepath.Join(harness.Root(), "test", "observe", "testdata", "train.py")
	finish := filepath.Join(t.TempDir(), "finish")
	env := []string{"FAIL=0:2:30:raise", "STEPS=100000", "STEP_TIME=0.05", "FINISH=" + finish}
	run := harness.Start(t, 2*limit, env, harness.Binary(t), "local", "-n", "4", "--framework", "none",
		"--metrics-addr", address, "--termination-log", t.TempDir()+"/message", "--unknown", "retry", "--",
		harness.Program(t, "python3", "install python3"), train)
	harness.Eventually(t, limit, "a server", func() bool {
		answer, err := http.Get("http://" + address + "/healthz")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil
	})
	b.do("Page.navigate", map[string]any{"url": "http://" + address + "/"}, nil)
	b.until(`status.round === 1 && status.step > 20 && line.steps.length > 1 && $("stops").children.length === 1`)
	text := fmt.Sprint(b.eval("document.body.innerText"))
	for _, want := range []string{"OutOfMemory", "rank 2", "<script>alert('hostile')</script>", "1 of 3", "round 1",
		"Restarted, charged to the restart budget"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	b.picture("a-run")
	if err := os.WriteFile(finish, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b.until(`document.getElementById("said").textContent.startsWith("Ended: success")`)
	if r := run.Wait(); r.Code != 0 {
		t.Errorf("%d %s", r.Code, r.Stderr)
	}
}

// TestBelowAPath looks at the page as a proxy shows it that has it below a path of its own.
func TestBelowAPath(t *testing.T) {
	b := open(t)
	s := &story{}
	target, err := url.Parse(s.serve(t))
	if err != nil {
		t.Fatal(err)
	}
	s.told(3)
	const path = "/jobs/llama-7b/proxy"
	proxy := httptest.NewServer(http.StripPrefix(path, httputil.NewSingleHostReverseProxy(target)))
	t.Cleanup(func() {
		proxy.CloseClientConnections() // the feed, which the browser listens to
		proxy.Close()
	})
	b.do("Page.navigate", map[string]any{"url": proxy.URL + path + "/"}, nil)
	b.until(`document.body.dataset.shown && $("link").textContent.startsWith("live") && document.querySelector("#rows .track i")`)
	for _, to := range []string{"status", "metrics"} {
		if got := b.eval(fmt.Sprintf(`document.querySelector("footer a[href=%s]").href`, to)); got != proxy.URL+path+"/"+to {
			t.Errorf("the link leads to %s", got)
		}
	}
}

// TestKeyboard reaches all controls by the tab key, pauses and goes on, and shows the end when the run is over.
func TestKeyboard(t *testing.T) {
	b := open(t)
	s := &story{}
	address := s.serve(t)
	s.told(3)
	b.do("Page.navigate", map[string]any{"url": address}, nil)
	b.until(`document.body.dataset.shown && document.querySelector("#rows .track i")`)
	press := func(key string, code int) {
		for _, typ := range []string{"rawKeyDown", "keyUp"} {
			b.do("Input.dispatchKeyEvent",
				map[string]any{"type": typ, "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
		}
	}
	var seen []string
	for range 5 {
		press("Tab", 9)
		seen = append(
			seen,
			fmt.Sprint(
				b.eval(`(e => e.id || e.getAttribute("role") || e.getAttribute("href"))(document.activeElement)`),
			),
		)
	}
	if got := strings.Join(seen, " "); got != "pause window region status metrics" {
		t.Errorf("the tab key leads to %s", got)
	}
	b.eval(`document.getElementById("pause").focus()`)
	press(" ", 32)
	b.until(`$("pause").getAttribute("aria-pressed") === "true" && $("link").textContent.startsWith("paused")`)
	shown := b.eval("document.body.dataset.shown")
	s.tell(s.now+60, event.RunEnded, func(e *event.Event) {
		e.End = &event.End{Verdict: exitcodes.Fatal, Reason: "Stopped", Message: "stopped by command", ExitCode: 1}
	})
	b.until(`status.phase === "ended"`)
	if now := b.eval("document.body.dataset.shown"); now != shown {
		t.Error("it goes on while it is paused")
	}
	press(" ", 32)
	b.until(`$("said").textContent.startsWith("Ended: fatal, Stopped") && $("phase").textContent === "ended"`)
	if len(b.complaints) > 1 {
		t.Errorf("%q", b.complaints)
	}
}
