package trainjob

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/exitcodes/replace"
	"github.com/gangrun/gangrun/internal/shared"
	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
)

func TestOf(t *testing.T) {
	step, steps, left := int64(30), int64(120), 90.4
	whole := account.Summary{
		Phase: account.Running, Step: &step, Steps: &steps, Remaining: &left, Checkpoint: &event.Checkpoint{Step: 20},
		Restarts:    event.Restarts{Total: 2, Preemptions: 1},
		Disruptions: []account.Disruption{{Reason: "OOMKilled"}, {Reason: "Hang"}},
	}
	over := whole
	over.Phase, over.Outcome = account.Ended, &event.End{Verdict: exitcodes.Success}
	failed := whole
	failed.Phase, failed.Outcome = account.Ended, &event.End{Verdict: exitcodes.Fatal}
	beyond := whole
	beyond.Step = &steps
	far := 1e18
	beyond.Remaining = &far
	before := whole
	negative := -1e9
	before.Remaining = &negative
	long := account.Summary{Disruptions: []account.Disruption{{Reason: strings.Repeat("x", 65)}}}
	figures := `"metrics":[{"name":"current_step","value":"30"},{"name":"total_steps","value":"120"},{"name":"checkpoint_step","value":"20"},` +
		`{"name":"restarts","value":"3"},{"name":"last_interruption","value":"Hang"}]`
	for name, test := range map[string]struct {
		s    account.Summary
		want string
	}{
		"in the middle":   {whole, `{"progressPercentage":25,"estimatedRemainingSeconds":90,` + figures + `}`},
		"at its end":      {over, `{"progressPercentage":100,"estimatedRemainingSeconds":0,` + figures + `}`},
		"failed":          {failed, `{"progressPercentage":25,` + figures + `}`},
		"nearly done":     {beyond, `{"progressPercentage":99,"estimatedRemainingSeconds":2147483647,` + strings.Replace(figures, "30", "120", 1) + `}`},
		"less than none":  {before, `{"progressPercentage":25,"estimatedRemainingSeconds":0,` + figures + `}`},
		"nothing is told": {account.Summary{Phase: account.Running}, `{"metrics":[{"name":"restarts","value":"0"}]}`},
		"a long reason":   {long, `{"metrics":[{"name":"restarts","value":"0"}]}`},
	} {
		if got, _ := json.Marshal(Of(test.s)); string(got) != test.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, test.want)
		}
	}
	at := time.Date(2026, 1, 1, 13, 0, 0, 5, time.FixedZone("", 3600))
	if got := string(body(Status{}, at)); got != `{"trainerStatus":{"lastUpdatedTime":"2026-01-01T12:00:00Z"}}` {
		t.Error(got)
	}
}

// server is a status server as Trainer's is: with TLS by a certificate of its own, and a token.
type server struct {
	*httptest.Server
	cfg Config

	mu     sync.Mutex
	taken  []string
	answer func(w http.ResponseWriter, r *http.Request) (takes bool)
}

func newServer(t *testing.T) *server {
	s := &server{}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	dir := t.TempDir()
	s.cfg = Config{URL: s.URL + "/status", CA: filepath.Join(dir, "ca.crt"), Token: filepath.Join(dir, "token")}
	write(t, s.cfg.CA, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	write(t, s.cfg.Token, "secret\n")
	return s
}

// write replaces a file as the kubelet does: whoever reads it meanwhile finds it whole.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := replace.File(path, 0o600, replace.Bytes([]byte(text))); err != nil {
		t.Fatal(err)
	}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer != nil && !s.answer(w, r) {
		return
	}
	if r.Method != "POST" || r.URL.Path != "/status" || r.Header.Get("Authorization") != "Bearer secret" {
		http.Error(w, "Forbidden", http.StatusForbidden)
		return
	}
	s.taken = append(s.taken, string(content))
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.taken)
}

// run is a training run whose step is its age in milliseconds, posted every millisecond.
func (s *server) run(log io.Writer) *Poster {
	cfg := s.cfg
	began := time.Now()
	cfg.every, cfg.Log = time.Millisecond, slog.New(slog.NewTextHandler(log, nil))
	cfg.At = func(now time.Time) account.Summary {
		step := now.Sub(began).Milliseconds()
		return account.Summary{Step: &step}
	}
	cfg.Posts = func(account.Summary) bool { return true }
	return New(cfg)
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("never: " + what)
		}
	}
}

func TestPosts(t *testing.T) {
	s, log := newServer(t), &shared.Buffer{}
	p := s.run(log)
	eventually(t, "three are taken", func() bool { return s.count() >= 3 })
	p.Close(10 * time.Second)
	n := s.count()
	var request struct {
		TrainerStatus struct {
			Metrics []Metric
			At      time.Time `json:"lastUpdatedTime"`
		}
	}
	if err := json.Unmarshal([]byte(s.taken[n-1]), &request); err != nil ||
		time.Since(request.TrainerStatus.At).Abs() > time.Minute || request.TrainerStatus.Metrics[0].Name != "current_step" {
		t.Errorf("%v: %s", err, s.taken[n-1])
	}
	if log.String() != "" {
		t.Error(log.String())
	}
}

// TestUnchanged: what is as it was is not posted again, and nobody posts for another node.
func TestUnchanged(t *testing.T) {
	s := newServer(t)
	cfg, looked := s.cfg, make(chan struct{}, 1000)
	cfg.every, cfg.Log = time.Millisecond, slog.New(slog.DiscardHandler)
	step := int64(7)
	cfg.At = func(time.Time) account.Summary { return account.Summary{Step: &step} }
	mine := true
	cfg.Posts = func(account.Summary) bool { looked <- struct{}{}; return mine }
	p := New(cfg)
	for range 20 {
		<-looked
	}
	p.Close(10 * time.Second)
	if n := s.count(); n != 1 {
		t.Errorf("%d were posted", n)
	}
	mine = false
	p = New(cfg)
	for range 20 {
		<-looked
	}
	p.Close(10 * time.Second)
	if n := s.count(); n != 1 {
		t.Errorf("%d were posted", n)
	}
}

// TestTrouble: whatever the server does costs one line in the log, and what comes later is taken.
func TestTrouble(t *testing.T) {
	for name, test := range map[string]struct {
		says  string
		spoil func(*server)
		mend  func(*server)
	}{
		"the token is not taken": {"403 Forbidden",
			func(s *server) { write(t, s.cfg.Token, "old") }, func(s *server) { write(t, s.cfg.Token, "secret") }},
		"no token":               {"token", func(s *server) { os.Remove(s.cfg.Token) }, func(s *server) { write(t, s.cfg.Token, "secret") }},
		"an empty token":         {"is empty", func(s *server) { write(t, s.cfg.Token, "\n") }, func(s *server) { write(t, s.cfg.Token, "secret") }},
		"a file without measure": {"more than", func(s *server) { write(t, s.cfg.Token, strings.Repeat("x", mostFile+1)) }, func(s *server) { write(t, s.cfg.Token, "secret") }},
		"no certificate":         {"no certificate", func(s *server) { write(t, s.cfg.CA, "none") }, nil},
		"a redirect": {"302", func(s *server) {
			s.answer = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
				return false
			}
		}, nil},
		"an error with much to say": {"422", func(s *server) {
			s.answer = func(w http.ResponseWriter, r *http.Request) bool {
				w.WriteHeader(422)
				_, _ = w.Write(bytes.Repeat([]byte("\x1b[2Jx"), 1<<20))
				return false
			}
		}, nil},
		"connections that break": {"EOF", func(s *server) {
			s.answer = func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, log := newServer(t), &shared.Buffer{}
			good, _ := os.ReadFile(s.cfg.CA)
			test.spoil(s)
			p := s.run(log)
			eventually(t, "it is said", func() bool { return strings.Contains(log.String(), test.says) })
			s.mu.Lock()
			s.answer = nil
			s.mu.Unlock()
			write(t, s.cfg.CA, string(good))
			if test.mend != nil {
				test.mend(s)
			}
			eventually(t, "it is taken again", func() bool { return s.count() > 0 })
			p.Close(10 * time.Second)
			if text := log.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "\x1b") || len(text) > 2000 {
				t.Errorf("%.3000s", text)
			}
		})
	}
}

// TestStranger: a server that somebody else has certified is told nothing, the token least of all.
func TestStranger(t *testing.T) {
	s, other := newServer(t), newServer(t)
	heard := false
	other.answer = func(http.ResponseWriter, *http.Request) bool { heard = true; return false }
	s.cfg.URL = other.cfg.URL
	ca := filepath.Join(t.TempDir(), "ca.crt")
	write(t, ca, ownCertificate(t))
	s.cfg.CA = ca
	log := &shared.Buffer{}
	p := s.run(log)
	eventually(t, "it is said", func() bool { return strings.Contains(log.String(), "certificate") })
	p.Close(10 * time.Second)
	if heard {
		t.Error("it was told")
	}
}

// TestSlow: the end of a run waits no longer than it is told to for a server that does not answer.
func TestSlow(t *testing.T) {
	s := newServer(t)
	began, hold := make(chan struct{}, 100), make(chan struct{})
	t.Cleanup(func() { close(hold) })
	s.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { began <- struct{}{}; <-hold })
	p := s.run(io.Discard)
	<-began
	before := time.Now()
	p.Close(50 * time.Millisecond)
	if took := time.Since(before); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestFind(t *testing.T) {
	for _, test := range []struct {
		variables map[string]string
		url, says string
	}{
		{nil, "", ""},
		{map[string]string{VariableURL: "https://x/y", variableCA: "/ca", variableToken: "/token"}, "https://x/y", ""},
		{map[string]string{VariableURL: "http://x/y", variableCA: "/ca", variableToken: "/token"}, "", VariableURL + ": want"},
		{map[string]string{VariableURL: "https://x/y", variableCA: "/ca"}, "", variableToken + " is not set"},
		{map[string]string{VariableURL: "https://x/y", variableToken: "/token"}, "", variableCA + " is not set"},
	} {
		cfg, err := Find(func(name string) (string, bool) { v, found := test.variables[name]; return v, found })
		switch {
		case test.says != "":
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v: %v", test.variables, err)
			}
		case err != nil || cfg.URL != test.url:
			t.Errorf("%v: %v %+v", test.variables, err, cfg)
		}
	}
}
