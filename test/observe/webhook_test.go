package observe_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/observe/webhook"
	"github.com/gangrun/gangrun/test/harness"
)

// TestWebhook sends what happens in a short run, signed.
func TestWebhook(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	keys, err := webhook.ParseKeys([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var types []event.Type
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e, err := event.Parse(body)
		want := webhook.Signatures(keys, e.ID, r.Header.Get("webhook-timestamp"), body)
		mu.Lock()
		defer mu.Unlock()
		if types = append(types, e.Type); err != nil || r.Header.Get("webhook-signature") != want ||
			r.Header.Get("webhook-id") != e.ID {
			t.Errorf("%v %v %s", err, r.Header, body)
		}
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	result := harness.Run(t, limit, []string{"GANGRUN_WEBHOOK=" + server.URL + "/hidden"}, harness.Binary(t), "run",
		"--webhook-secret-file", file, "--log-level", "debug", "--", "/bin/sh", "-c", "env")
	mu.Lock()
	defer mu.Unlock()
	want := []event.Type{event.RunStarted, event.RoundBegan, event.RoundRunning, event.RoundStopping, event.RoundEnded,
		event.RunEnded}
	if result.Code != 0 || !slices.Equal(types, want) {
		t.Errorf("%d, %v\n%s", result.Code, types, result.Stderr)
	}
	if all := result.Stdout + result.Stderr; strings.Contains(all, "hidden") || strings.Contains(all, secret) {
		t.Errorf("a secret is seen:\n%s", all)
	}
}

// TestWebhookIsNoHelp: a server that is down, or takes a request and never answers, delays nothing but the very end.
func TestWebhookIsNoHelp(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	for _, url := range []string{"http://127.0.0.1:1/", server.URL} {
		result := harness.Run(t, limit, nil, harness.Binary(t), "run", "--webhook", url, "--", "true")
		if result.Code != 0 || result.Took > 15*time.Second || !strings.Contains(result.Stderr, "did not reach the webhook") {
			t.Errorf("%s: %d after %v\n%s", url, result.Code, result.Took, result.Stderr)
		}
	}
}

// TestWebhookMistakes: what cannot be sent or signed is said before anything is started.
func TestWebhookMistakes(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(bad, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{
		{"--webhook", "ftp://x/"}, {"--webhook", "http://x/", "--webhook-secret-file", bad}, {"--webhook-secret-file", bad},
		{"--webhook", "http://x/", "--webhook-secret-file", bad + ".none"},
	} {
		argv := append(append([]string{harness.Binary(t), "run"}, flags...), "--", "/bin/echo", "started")
		result := harness.Run(t, limit, nil, argv...)
		if result.Code != exitcodes.CodeBadConfig || strings.Contains(result.Stderr, "hunter2") || result.Stdout != "" {
			t.Errorf("%v: %d %s", flags, result.Code, result.Stderr)
		}
	}
}
