package webhook

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gangrun/gangrun/observe/event"
)

func events(from, count int, t event.Type) (list []event.Event) {
	for i := range count {
		list = append(list, event.Event{
			V: 1, ID: fmt.Sprintf("s-%d", from+i), Seq: int64(from + i), Source: "s", At: time.Unix(1, 0).UTC(), Type: t,
		})
	}
	return list
}

// receiver is a web server that answers as it is told, and remembers what it has taken.
type receiver struct {
	mu     sync.Mutex
	tries  []string // ids, in order
	taken  []event.Event
	header []http.Header
	answer func(try int, w http.ResponseWriter) (takes bool)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	r.tries = append(r.tries, request.Header.Get("webhook-id"))
	r.header = append(r.header, request.Header.Clone())
	try := len(r.tries)
	r.mu.Unlock()
	if r.answer != nil && !r.answer(try, w) {
		return
	}
	e, err := event.Parse(body)
	if err != nil {
		panic(err)
	}
	r.mu.Lock()
	r.taken = append(r.taken, e)
	r.mu.Unlock()
}

func (r *receiver) await(t *testing.T, count int) []event.Event {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		taken := r.taken
		r.mu.Unlock()
		if len(taken) >= count {
			return taken
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d events came, of %d", len(taken), count)
		}
	}
}

// clock is one in which each try is a second after the one before.
var clock atomic.Int64

func sender(t *testing.T, url string, log io.Writer, keys ...[]byte) *Sender {
	s := New(Config{
		URL: url, Keys: keys, Log: slog.New(slog.NewTextHandler(log, nil)), pause: time.Millisecond,
		mostPause: 5 * time.Millisecond,
		now:       func() time.Time { return time.Unix(clock.Add(1), 0) },
	})
	t.Cleanup(func() { s.stop() })
	return s
}

// TestOrder: a server that is down, then fails, then lies about where it is, gets every event once it takes them, in
// order, each with the same id at each try; a redirect is not followed.
func TestOrder(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		t.Error("the redirect was followed")
	}))
	defer elsewhere.Close()
	r := &receiver{answer: func(try int, w http.ResponseWriter) bool {
		switch try % 5 {
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		case 3:
			panic(http.ErrAbortHandler)
		default:
			return true
		}
		return false
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	var log bytes.Buffer
	s := sender(t, "http://"+address+"/secret-path", &log)
	s.Take(events(1, 20, event.RoundBegan))
	time.Sleep(20 * time.Millisecond) // it is down
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: r,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}}
	server.Start()
	defer server.Close()
	for i, e := range r.await(t, 20) {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d is number %d", i, e.Seq)
		}
	}
	before := ""
	for _, id := range r.tries {
		if id != before && before != "" && id != fmt.Sprintf("s-%d", number(before)+1) {
			t.Errorf("%s after %s", id, before)
		}
		before = id
	}
	if err := s.Close(time.Minute); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "secret-path") || s.Dropped() != 0 {
		t.Errorf("dropped %d, log %s", s.Dropped(), &log)
	}
}

func number(id string) (n int) { _, _ = fmt.Sscanf(id, "s-%d", &n); return n }

// TestSigned: each try is signed by each key, over what the server gets.
func TestSigned(t *testing.T) {
	r := &receiver{answer: func(try int, w http.ResponseWriter) bool {
		if try == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
		return try > 1
	}}
	server := httptest.NewServer(r)
	defer server.Close()
	keys, err := ParseKeys([]byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n\n  whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24)) + "\r\n"))
	if err != nil || len(keys) != 2 {
		t.Fatal(keys, err)
	}
	s := sender(t, server.URL, io.Discard, keys...)
	all := events(1, 1, event.RunEnded)
	s.Take(append(events(9, 3, event.Progress), all...))
	r.await(t, 1)
	if err := s.Close(time.Minute); err != nil {
		t.Error(err)
	}
	body := bytes.TrimSpace(all[0].Encode())
	for _, h := range r.header {
		if got, want := h.Get("webhook-signature"), Signatures(keys, "s-1", h.Get("webhook-timestamp"),
			body); got != want || h.Get("webhook-id") != "s-1" {
			t.Errorf("%v; want %s", h, want)
		}
	}
	if len(r.header) != 2 || r.header[0].Get("webhook-timestamp") == r.header[1].Get("webhook-timestamp") {
		t.Errorf("tries %v; steps are not sent, and each try has its own time", r.header)
	}
}

// TestSignature is one that was made by another program.
func TestSignature(t *testing.T) {
	keys, err := ParseKeys([]byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := Signatures(keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330",
		[]byte(`{"test": 2432232314}`)); got != "v1,"+want {
		t.Errorf("%s", got)
	}
	for _, bad := range []string{"", "\n", "secret", "whsec_!", "whsec_c2hvcnQ=",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\nx"} {
		if _, err := ParseKeys([]byte(bad)); err == nil || bad != "" && strings.Contains(err.Error(),
			strings.TrimSpace(bad)) && len(bad) > 3 {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestSlow: a server that takes a request and never answers delays nobody; beyond a thousand the oldest events go, and
// one event says how many.
func TestSlow(t *testing.T) {
	release := make(chan struct{})
	first := make(chan struct{})
	r := &receiver{answer: func(try int, _ http.ResponseWriter) bool {
		if try == 1 {
			close(first)
			<-release
		}
		return true
	}}
	server := httptest.NewServer(r)
	defer server.Close()
	s := sender(t, server.URL, io.Discard)
	s.Take(events(1, 1, event.RoundBegan))
	<-first
	began := time.Now()
	for i := range 150 {
		s.Take(events(2+10*i, 10, event.RoundBegan))
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Take has waited %v", took)
	}
	close(release)
	taken := r.await(t, mostWaiting+2)
	if d := taken[1]; d.Type != event.EventsDropped || d.Dropped.Count != 500 || taken[2].Seq != 502 ||
		s.Dropped() != 500 {
		t.Errorf("%+v, then number %d; %d are lost", d, taken[2].Seq, s.Dropped())
	}
	for i, e := range taken[2:] {
		if e.Seq != int64(502+i) {
			t.Fatalf("number %d at %d", e.Seq, i)
		}
	}
	if err := s.Close(time.Minute); err != nil {
		t.Error(err)
	}
}

// TestNobodyThere: the end of a run does not wait for a server that is down, and says what did not reach it.
func TestNobodyThere(t *testing.T) {
	var log bytes.Buffer
	s := sender(t, "http://127.0.0.1:1/", &log)
	s.Take(events(1, 3, event.RoundBegan))
	began := time.Now()
	err := s.Close(50 * time.Millisecond)
	if time.Since(began) > 10*time.Second || err == nil || !strings.HasPrefix(err.Error(), "3 events") {
		t.Errorf("%v after %v; %s", err, time.Since(began), &log)
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add([]byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := ParseKeys(data)
		if (err == nil) != (len(keys) > 0) {
			t.Errorf("%q: %d keys, %v", data, len(keys), err)
		}
	})
}
