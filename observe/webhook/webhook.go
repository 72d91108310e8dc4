// Package webhook sends events to a web server, as Standard Webhooks describes it: each at least once and in order,
// with the same id at each try, signed. Whoever hands events in never waits for the server.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/observe/event"
)

const (
	mostWaiting = 1000
	tryTime     = 10 * time.Second // for one try
	eventTime   = 15 * time.Minute // for all tries of one event: then the next has its turn
	firstPause  = time.Second      // between two tries, doubling
	mostPause   = time.Minute
)

// Config is where events go.
type Config struct {
	URL  string
	Keys [][]byte // to sign with: several while one takes the place of another; none: not signed
	Log  *slog.Logger

	pause, mostPause time.Duration // 0: as above
	now              func() time.Time
}

// Sender sends events.
type Sender struct {
	cfg    Config
	client *retryablehttp.Client
	poke   chan struct{} // there is something to send, or nothing more comes
	stop   context.CancelFunc
	work   task.Task

	mu      sync.Mutex
	waiting []event.Event
	dropped int64 // since the last that was sent
	lost    int64 // in all
	closed  bool
}

// CheckURL says what is wrong with the address of a webhook.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("want the address of a web server, http:// or https://")
	}
	return nil
}

// New begins to send.
func New(cfg Config) *Sender {
	ctx, stop := context.WithCancel(context.Background())
	s := &Sender{cfg: cfg, poke: make(chan struct{}, 1), stop: stop}
	if cfg.now == nil {
		s.cfg.now = time.Now
	}
	if cfg.pause == 0 {
		s.cfg.pause, s.cfg.mostPause = firstPause, mostPause
	}
	s.client = &retryablehttp.Client{
		HTTPClient: &http.Client{
			Timeout:       tryTime,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		RetryMax: 1 << 30, RetryWaitMin: s.cfg.pause, RetryWaitMax: s.cfg.mostPause,
		CheckRetry: s.again, Backoff: retryablehttp.DefaultBackoff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
		PrepareRetry: func(r *http.Request) error { return s.sign(r) },
	}
	s.work = task.Begin(func() { s.run(ctx) })
	return s
}

// Take hands events in. It never waits: beyond a thousand that wait the oldest go. Steps and savings are not sent.
func (s *Sender) Take(events []event.Event) {
	s.mu.Lock()
	for _, e := range events {
		switch e.Type {
		case event.Progress, event.SavingBegan, event.SavingEnded:
			continue
		}
		s.waiting = append(s.waiting, e)
		if len(s.waiting) > mostWaiting {
			s.waiting = s.waiting[1:]
			s.drop(1)
		}
	}
	s.mu.Unlock()
	s.wake()
}

func (s *Sender) drop(n int64) { s.dropped, s.lost = s.dropped+n, s.lost+n }

func (s *Sender) wake() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// Dropped is how many events will never be sent.
func (s *Sender) Dropped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// Close sends what still waits, for no longer than limit. The error says how much did not arrive.
func (s *Sender) Close(limit time.Duration) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wake()
	s.work.EndsWithin(limit)
	s.stop()
	<-s.work
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := int64(len(s.waiting)) + s.dropped; n > 0 {
		return fmt.Errorf("%d events did not reach the webhook", n)
	}
	return nil
}

// next is what to send next; false: there is nothing now. over says that nothing will be.
func (s *Sender) next() (e event.Event, found, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return e, false, s.closed
	}
	e = s.waiting[0]
	if s.dropped > 0 {
		return e.AfterDropped(s.dropped), true, false
	}
	s.waiting = s.waiting[1:]
	return e, true, false
}

func (s *Sender) run(ctx context.Context) {
	complained := false
	for {
		e, found, over := s.next()
		switch {
		case over:
			return
		case !found:
			select {
			case <-s.poke:
			case <-ctx.Done():
				return
			}
			continue
		}
		err := s.send(ctx, e)
		s.mu.Lock()
		switch {
		case err == nil && e.Type == event.EventsDropped:
			s.dropped -= e.Dropped.Count
		case err != nil && e.Type != event.EventsDropped:
			s.drop(1)
		}
		s.mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		if err != nil && !complained {
			complained = true
			s.cfg.Log.Warn("the webhook does not accept events; training continues", "err", err)
		}
	}
}

// send tries until the server has taken the event.
func (s *Sender) send(ctx context.Context, e event.Event) error {
	ctx, cancel := context.WithTimeout(ctx, eventTime)
	defer cancel()
	body := bytes.TrimSuffix(e.Encode(), []byte("\n"))
	r, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, body)
	if err != nil {
		return bare(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "gangrun")
	r.Header.Set("webhook-id", e.ID)
	if err := s.sign(r.Request); err != nil {
		return err
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return bare(err)
	}
	_ = answer.Body.Close() // it is not read: what it says is nobody's concern
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return nil
}

// again reports whether there is to be another try.
func (s *Sender) again(ctx context.Context, answer *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err != nil || answer.StatusCode/100 != 2, nil
}

// sign sets what changes with each try: the time, and the signatures over id, time and body.
func (s *Sender) sign(r *http.Request) error {
	body, err := r.GetBody()
	if err != nil {
		return err
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	now := strconv.FormatInt(s.cfg.now().Unix(), 10)
	r.Header.Set("webhook-timestamp", now)
	if len(s.cfg.Keys) > 0 {
		r.Header.Set("webhook-signature", Signatures(s.cfg.Keys, r.Header.Get("webhook-id"), now, content))
	}
	return nil
}

// bare is err without the address, which may be a secret.
func bare(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}
