// Package page_test looks at the page of a run with a real browser: in four sizes and both themes, with what a hostile
// name or a thousand nodes make of it. GANGRUN_TEST_PICTURES=DIR keeps the pictures.
package page_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/test/harness"
)

func TestMain(m *testing.M) {
	harness.ClearEnvironment()
	os.Exit(m.Run())
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
