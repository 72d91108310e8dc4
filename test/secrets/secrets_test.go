// Package secrets_test plants secrets wherever people have them, and looks for them in everything that gangrun writes,
// sends and serves.
package secrets_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

func TestMain(m *testing.M) {
	etcdserver.Main()
	harness.ClearEnvironment()
	os.Exit(m.Run())
}

const limit = time.Minute

// secret is one that is planted, by where.
func secret(where string) string { return "Planted" + where + "9Secret4" }

// received is what a web server was sent.
type received struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *received) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = req.Write(&r.text) // with its head
}

func (r *received) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// TestPlanted runs two nodes whose workers hang, are killed, and fail for good. The secrets are in the workers'
// environment and arguments, in the files that flags name, and in a URL.
func TestPlanted(t *testing.T) {
	dir := t.TempDir()
	var hooked received
	hook := httptest.NewServer(&hooked)
	defer hook.Close()
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name) // not below dir, all of which is searched
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	signing := "whsec_" + base64.StdEncoding.EncodeToString([]byte(secret("Webhook")+"-and-some-more"))
	c := etcdserver.StartFor(t, "127.0.0.1", 1, nil)
	worker := harness.Shell(`case $GANGRUN_ROUND in
0) echo step 1; sleep 0.2; echo step 2; sleep 1000;;
1) kill -9 $$;;
*) until [ -e "`+dir+`/go" ]; do sleep 0.05; done; echo "ValueError: a mistake" >&2; exit 3;;
esac`, "--password", secret("Argument"))
	worker[0] = "/bin/sh"
	metrics := map[string]string{}
	nodes := c.TwoNodes(t, "secrets", limit, func(name string) harness.Job {
		addr, err := etcdserver.FreeAddr("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		metrics[name] = addr
		return harness.Job{
			Flags: []string{
				"--restart-backoff", "1ms:1ms",
				"--store-user-file", file("user", "somebody"), "--store-password-file", file("password", secret("Password")),
				"--webhook", hook.URL + "/in?key=" + secret("Query"), "--webhook-secret-file", file("secret", signing),
				"--metrics-addr", addr, "--log-level", "debug", "--hang", "act", "--hang-timeout", "1s", "--step-regex", `step (\d+)`,
				"--events", filepath.Join(dir, name+".events"), "--state-dir", filepath.Join(dir, "state"),
				"--log-dir", filepath.Join(dir, "log-"+name), "--on-exit", "/bin/true " + secret("Hook"),
			},
			Env:    []string{"API_TOKEN=" + secret("Environment")},
			Worker: worker,
		}
	})
	seen := map[string]string{}
	for name, addr := range metrics {
		last := ""
		if err := harness.Until(limit/2, "the last round of "+name, func() bool {
			last, _ = get(addr, "/status")
			return strings.Contains(last, `"round": 2`)
		}); err != nil {
			t.Fatalf("%v: %s", err, last)
		}
		for _, path := range []string{"/", "/status", "/metrics", "/healthz", "/readyz"} {
			text, err := get(addr, path)
			if err != nil {
				t.Fatal(err)
			}
			seen[name+path] = text
		}
	}
	for key, value := range c.Records(t) {
		seen["the store's "+key] = value
	}
	status := harness.Run(t, limit, nil, harness.Binary(t), "status", "secrets", "--store", c.Endpoints()[0], "-o", "json")
	seen["gangrun status"] = status.Stdout + status.Stderr
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, n := range nodes {
		e := n.End()
		if e.Code != 3 {
			t.Errorf("exit code %d\n%s\n%s", e.Code, e.Raw, e.Stderr)
		}
		seen["output of "+name], seen["termination log of "+name] = e.Stdout+e.Stderr, string(e.Raw)
	}
	report := harness.Run(t, limit, nil, harness.Binary(t), "report", filepath.Join(dir, "n0.events"), filepath.Join(dir, "n1.events"))
	seen["gangrun report"], seen["the webhook"] = report.Stdout+report.Stderr, hooked.String()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		seen[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, text := range seen {
		names = append(names, fmt.Sprintf("%s (%d bytes)", name, len(text)))
		for _, where := range []string{"Argument", "Environment", "Password", "Query", "Webhook", "Hook"} {
			if where == "Query" && name == "the webhook" {
				continue // it is the receiver's own
			}
			for _, form := range []string{secret(where), base64.StdEncoding.EncodeToString([]byte(secret(where)))[:16]} {
				if strings.Contains(text, form) {
					t.Errorf("%s shows %s: %.300s", name, form, text[max(0, strings.Index(text, form)-100):])
				}
			}
		}
	}
	if t.Logf("looked through %q", names); len(seen) < 20 || !strings.Contains(seen["the webhook"], "webhook-signature") &&
		!strings.Contains(strings.ToLower(seen["the webhook"]), "webhook-signature") {
		t.Errorf("there is less to look through than there should be: %q", names)
	}
}

func get(addr, path string) (string, error) {
	res, err := http.Get("http://" + addr + path)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}
