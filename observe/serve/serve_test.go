package serve

import (
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gangrun/gangrun/observe/account"
)

func server(t *testing.T, s *account.Summary, patience time.Duration) string {
	t.Helper()
	return serving(t, func() account.Summary { return *s }, patience, NewFeed(nil)).Addr().String()
}

func serving(t *testing.T, at func() account.Summary, patience time.Duration, feed *Feed) *Server {
	t.Helper()
	server, err := Listen("127.0.0.1:0", Config{
		Metrics: prometheus.NewRegistry(), At: func(time.Time) account.Summary { return at() },
		Log: slog.New(slog.DiscardHandler), patience: patience, Feed: feed,
		Alive: func() bool { return at().Node != "stuck" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

func get(t *testing.T, method, url string) (*http.Response, string) {
	t.Helper()
	request, _ := http.NewRequest(method, url, nil)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return answer, string(body)
}

// TestReady: a node that forms is ready, one that leaves or has ended is not.
func TestReady(t *testing.T) {
	s := &account.Summary{}
	url := "http://" + server(t, s, 0)
	for _, test := range []struct {
		s    account.Summary
		code int
	}{
		{account.Summary{Phase: account.Forming}, 200},
		{account.Summary{Phase: account.Running}, 200},
		{account.Summary{Phase: account.Running, Leaving: "SIGTERM"}, 503},
		{account.Summary{Phase: account.Ended}, 503},
	} {
		*s = test.s
		if answer, body := get(t, "GET", url+"/readyz"); answer.StatusCode != test.code {
			t.Errorf("%+v: %d %s", test.s, answer.StatusCode, body)
		}
		if answer, _ := get(t, "GET", url+"/healthz"); answer.StatusCode != 200 {
			t.Errorf("health: %d", answer.StatusCode)
		}
	}
}

// TestHealth: a gangrun that does not go on says so.
func TestHealth(t *testing.T) {
	if answer, _ := get(t, "GET", "http://"+server(t, &account.Summary{Node: "stuck"},
		0)+"/healthz"); answer.StatusCode != 503 {
		t.Errorf("%d", answer.StatusCode)
	}
}

// TestStatus shows hostile names as text.
func TestStatus(t *testing.T) {
	url := "http://" + server(t, &account.Summary{Node: "<script>alert(1)</script>\x1b[2J"}, 0)
	answer, body := get(t, "GET", url+"/status")
	var back account.Summary
	if err := json.Unmarshal([]byte(body), &back); err != nil || back.Node != "<script>alert(1)</script>\x1b[2J" {
		t.Errorf("%v %+v", err, back)
	}
	if strings.ContainsAny(body, "<>\x1b") ||
		!strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		t.Errorf("%v %s", answer.Header, body)
	}
}

// TestOnlyShows refuses whatever does not read, says so at every path, and has no others.
func TestOnlyShows(t *testing.T) {
	url := "http://" + server(t, &account.Summary{}, 0)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
		for _, path := range []string{"/", "/events", "/metrics", "/status", "/healthz", "/readyz"} {
			if answer, _ := get(t, method, url+path); answer.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, path, answer.StatusCode)
			}
		}
	}
	for _, path := range []string{"/metrics", "/status", "/healthz", "/none"} {
		answer, _ := get(t, "GET", url+path)
		if csp := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if want := 200; path == "/none" && answer.StatusCode != 404 || path != "/none" && answer.StatusCode != want {
			t.Errorf("%s: %d", path, answer.StatusCode)
		}
	}
}

// TestSlowReaders are dropped: as many connections as there may be, which say nothing, keep nobody else out for long.
func TestSlowReaders(t *testing.T) {
	address := server(t, &account.Summary{}, 200*time.Millisecond)
	for range mostConnections {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	client := http.Client{Timeout: 20 * time.Second}
	answer, err := client.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}
