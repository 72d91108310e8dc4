package page_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// limit is how long anything may take that a browser does.
const limit = time.Minute

// browser is a Chromium without a screen, told what to do by the DevTools protocol over a pipe.
type browser struct {
	t       *testing.T
	to      *os.File
	answers chan answer
	session string
	id      int
	// complaints are what the page's script has thrown, and what the browser has refused.
	complaints []string
}

type answer struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// open starts one with an empty page.
func open(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("GANGRUN_TEST_LONG") == "" {
		t.Skip("chromium, which looks at the page, is not installed: make test-long")
	}
	if err != nil {
		harness.Missing(t, "chromium", "apt-get install chromium")
	}
	theirs, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, theirsToo, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--remote-debugging-pipe", "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
		"--user-data-dir="+dir, "about:blank")
	cmd.ExtraFiles = []*os.File{theirs, theirsToo}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	theirsToo.Close()
	b := &browser{t: t, to: to, answers: make(chan answer, 1000)}
	go func() {
		defer close(b.answers)
		for in := bufio.NewReader(from); ; {
			line, err := in.ReadBytes(0)
			var a answer
			if err != nil || json.Unmarshal(line[:len(line)-1], &a) != nil {
				return
			}
			b.answers <- a
		}
	}()
	t.Cleanup(func() {
		to.Close() // it ends with that
		timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
		from.Close()
	})
	var target struct{ TargetID string }
	b.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Accessibility"} {
		b.do(domain+".enable", nil, nil)
	}
	return b
}

// do has it do something, and reads the answer.
func (b *browser) do(method string, params, result any) {
	b.t.Helper()
	b.id++
	request := map[string]any{"id": b.id, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	line, err := json.Marshal(request)
	if err == nil {
		_, err = b.to.Write(append(line, 0))
	}
	if err != nil {
		b.t.Fatal(err)
	}
	late := time.After(limit)
	for {
		select {
		case a, more := <-b.answers:
			switch {
			case !more:
				b.t.Fatalf("%s: the browser has ended", method)
			case a.ID != b.id:
				b.hear(a)
				continue
			case a.Error != nil:
				b.t.Fatalf("%s: %s", method, a.Error.Message)
			case result != nil:
				if err := json.Unmarshal(a.Result, result); err != nil {
					b.t.Fatal(err)
				}
			}
			return
		case <-late:
			b.t.Fatalf("%s: no answer", method)
		}
	}
}

// hear notes what the page does wrong.
func (b *browser) hear(a answer) {
	switch a.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
		b.complaints = append(b.complaints, string(a.Params))
	}
}

// eval is what an expression comes to in the page.
func (b *browser) eval(expression string) (value any) {
	b.t.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	b.do("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true},
		&out)
	if out.ExceptionDetails != nil {
		b.t.Fatalf("%s: %v", expression, out.ExceptionDetails)
	}
	return out.Result.Value
}

// until waits until an expression is true, which is read whenever the page has been drawn.
func (b *browser) until(expression string) {
	b.t.Helper()
	done := b.eval(fmt.Sprintf(`new Promise(done => {
		const late = Date.now() + %d;
		const look = () => {
			let now = false;
			try { now = %s; } catch { }
			if (now || Date.now() > late) done(Boolean(now)); else setTimeout(look, 20);
		};
		look();
	})`, limit.Milliseconds()/2, expression))
	if done != true {
		b.t.Fatalf("%s is not so; complaints: %q", expression, b.complaints)
	}
}
