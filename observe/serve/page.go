package serve

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

const (
	mostListeners = 16                     // to the feed, at once
	showEvery     = 2 * time.Second        // without anything new: time goes on
	showAtMost    = 250 * time.Millisecond // with ever so much news
	retryAfter    = "5"                    // seconds, for a listener that there is no room for
)

//go:embed page.html
var page string

// policy is what a browser may do with the page: run its one script, use its one style sheet, and listen to where it
// came from. Neither may have changed on the way, and text never becomes anything else.
func policy(page string) string {
	hash := func(tag string) string {
		_, after, _ := strings.Cut(page, "<"+tag+">")
		body, _, _ := strings.Cut(after, "</"+tag+">")
		sum := sha256.Sum256([]byte(body))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + hash("script") + "; style-src " + hash(
		"style",
	) + "; connect-src 'self'; " +
		"frame-ancestors 'none'; base-uri 'none'; form-action 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"
}

// servePage answers with the page.
func servePage() http.HandlerFunc {
	allowed := policy(page)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", allowed)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	}
}

// stream answers with Server-Sent Events, for as long as the reader keeps up: what is shown at least every two seconds,
// and what is drawn whenever it has changed.
func stream(cfg Config, patience time.Duration, listeners *atomic.Int64, closing <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if listeners.Add(1) > mostListeners {
			listeners.Add(-1)
			w.Header().Set("Retry-After", retryAfter)
			text(w, http.StatusServiceUnavailable, "too many look at this node already")
			return
		}
		defer listeners.Add(-1)
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Method == http.MethodHead {
			return
		}
		to := listener{w, http.NewResponseController(w), patience}
		tick := time.NewTicker(showEvery)
		defer tick.Stop()
		var drawn int64 = -1
		for over, gone := false, false; ; {
			version, changed := cfg.Feed.state()
			shown, err := cfg.Feed.shown(cfg.At, time.Now())
			if !to.send("status", shown, err) {
				return
			}
			if version != drawn {
				picture, err := cfg.Feed.drawn()
				if drawn = version; !to.send("timeline", picture, err) {
					return
				}
			}
			if over {
				return
			}
			if over, gone = awaitNews(r.Context(), closing, changed, tick.C); gone {
				return
			}
		}
	}
}

// listener is who reads a stream.
type listener struct {
	w        http.ResponseWriter
	conn     *http.ResponseController
	patience time.Duration
}

// send reports whether the reader has taken it in time.
func (l listener) send(name string, data []byte, err error) bool {
	if err != nil || l.conn.SetWriteDeadline(time.Now().Add(l.patience)) != nil {
		return false
	}
	if _, err := fmt.Fprintf(l.w, "event: %s\ndata: %s\n\n", name, data); err != nil {
		return false
	}
	return l.conn.Flush() == nil
}

// awaitNews waits until there is something to show again, and not less than showAtMost. over: it is the last time; gone:
// nobody listens any more.
func awaitNews(ctx context.Context, closing, changed <-chan struct{}, tick <-chan time.Time) (over, gone bool) {
	pause := time.NewTimer(showAtMost)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-closing:
		return true, false
	case <-ctx.Done():
		return false, true
	}
	select {
	case <-changed:
	case <-tick:
	case <-closing:
		return true, false
	case <-ctx.Done():
		return false, true
	}
	return false, false
}
