package command

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/gangrun/gangrun/observe"
	"github.com/gangrun/gangrun/observe/file"
	"github.com/gangrun/gangrun/observe/journal"
	"github.com/gangrun/gangrun/observe/manager"
	"github.com/gangrun/gangrun/observe/metrics"
	"github.com/gangrun/gangrun/observe/record"
	"github.com/gangrun/gangrun/observe/serve"
	"github.com/gangrun/gangrun/observe/trainjob"
	"github.com/gangrun/gangrun/observe/webhook"
	"github.com/gangrun/gangrun/supervisor/output"
)

// seen has the flags for those who watch the run. Without any of them nothing is recorded.
type seen struct {
	events  string // path
	metrics string // address to listen at
	webhook string // URL
	secrets string // path of the file with them
	keys    *[][]byte
}

func (o *options) seenSettings() []*setting {
	return []*setting{
		{name: "events", group: groupSeen, hint: "FILE", parse: text(&o.seen.events), standard: "none",
			usage: "append events to this file, one JSON object per line, for gangrun report"},
		{name: "webhook", group: groupSeen, hint: "URL", parse: o.parseWebhook, standard: "none",
			usage: "send all events except steps to this web server, in the form of Standard Webhooks"},
		{name: "webhook-secret-file", group: groupSeen, hint: "FILE", parse: text(&o.seen.secrets), standard: "not signed",
			usage: "sign them with the secret in this file (whsec_ and base64); two secrets on two lines while one replaces the other"},
		{name: "metrics-addr", group: groupSeen, hint: "HOST:PORT", parse: address(&o.seen.metrics), standard: "none",
			usage: "listen here, such as on :9400, for requests to / (a page), /metrics (Prometheus), /healthz, /readyz and /status"},
		o.trainJobSetting(),
	}
}

func (o *options) parseWebhook(s string) error {
	o.seen.webhook = s
	return webhook.CheckURL(s)
}

// loadKeys reads the secrets that sign what goes to the webhook.
func (o *options) loadKeys() error {
	if o.seen.secrets == "" {
		return nil
	}
	if o.seen.webhook == "" {
		return &configError{"--webhook-secret-file: there is no --webhook whose events it could sign"}
	}
	data, err := readBounded(o.seen.secrets, 64<<10)
	var keys [][]byte
	if err == nil {
		keys, err = webhook.ParseKeys(data)
	}
	if err != nil {
		return &configError{fmt.Sprintf("--webhook-secret-file %s: %v", o.seen.secrets, err)}
	}
	o.seen.keys = &keys
	return nil
}

// lastEvents bounds how long the end of a run waits for its receivers of events.
const lastEvents = 2 * time.Second

// address reads where to listen.
func address(p *string) func(string) error {
	return func(s string) error {
		_, port, err := net.SplitHostPort(s)
		if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 {
			return errors.New("want an address and a port, such as :9400 or 127.0.0.1:9400")
		}
		*p = s
		return nil
	}
}

// openSeen sets up what observes the supervisor, if anything does. What it returns is called at the end.
func (o *options) openSeen(console *output.Console) (done func()) {
	journals, line := journal.Wanted() && !o.quiet, o.wantsLine()
	if o.seen == (seen{}) && !manager.Wanted() && !journals && !line && o.trainJob.server.URL == "" {
		return func() {}
	}
	asks := make(chan chan struct{})
	o.Alive = asks
	all := o.receivers(asks, journals)
	var feed *serve.Feed
	if o.seen.metrics != "" {
		self, heard, reached := o.Node, o.Agent.Heard, o.Agent.Reached
		feed = serve.NewFeed(func() *serve.Job {
			job, round := heard()
			return serve.JobOf(job, round, reached(), self)
		})
		all.take = append(all.take, feed.Take)
	}
	var source [6]byte
	rand.Read(source[:]) // never fails
	hub := observe.New(record.Config{
		Source: hex.EncodeToString(source[:]), Version: versionText(), Job: o.Job, Node: o.Node, Role: o.Role,
		MaxRestarts: o.MaxRestarts, StartedAt: o.StartedAt,
	}, all.take...)
	o.Observe = hub.Observe
	if line {
		all.atEnd(showLine(hub, console, colourful(os.Stderr)))
	}
	if cfg := o.trainJob.server; cfg.URL != "" {
		cfg.At, cfg.Posts, cfg.Log = hub.At, o.postsProgress(), o.Log
		p := trainjob.New(cfg)
		all.atEnd(func() { p.Close(lastEvents) })
	}
	if o.seen.metrics != "" {
		all.atEnd(o.serve(hub, feed, asks, all.dropped))
	}
	return func() {
		for _, f := range all.closers {
			if err := f(); err != nil { // all that goes through the console is out by now
				slog.New(o.logHandler(os.Stderr)).Warn(err.Error())
			}
		}
	}
}

// receivers are given every event.
type receivers struct {
	take    []observe.Receiver
	dropped map[string]func() int64 // how many each had no room for
	closers []func() error          // at the end, in this order
}

func (r *receivers) atEnd(do func()) {
	r.closers = append(r.closers, func() error { do(); return nil })
}

// receivers opens those that need nothing but events.
func (o *options) receivers(asks chan<- chan struct{}, journals bool) (all receivers) {
	all.dropped = map[string]func() int64{}
	if o.seen.events != "" {
		w := file.Open(o.seen.events, file.DefaultSize, o.Log)
		all.take, all.dropped["file"] = append(all.take, w.Take), w.Dropped
		all.closers = append(all.closers, func() error { return w.Close(lastEvents) })
	}
	if o.seen.webhook != "" {
		cfg := webhook.Config{URL: o.seen.webhook, Log: o.Log}
		if o.seen.keys != nil {
			cfg.Keys = *o.seen.keys
		}
		w := webhook.New(cfg)
		all.take, all.dropped["webhook"] = append(all.take, w.Take), w.Dropped
		all.closers = append(all.closers, func() error { return w.Close(lastEvents) })
	}
	if journals {
		j := journal.Open(o.Log)
		all.take = append(all.take, j.Take)
		all.atEnd(func() { j.Close(lastEvents) })
	}
	if manager.Wanted() {
		m := manager.New(manager.Config{Alive: func() bool { return answers(asks) }, Log: o.Log})
		all.take = append(all.take, m.Take)
		all.atEnd(func() { m.Close(lastEvents) })
	}
	return all
}

// answerTime is how long the supervisor may take to answer: far longer than it ever takes.
const answerTime = 5 * time.Second

// answers reports whether the supervisor's loop answers.
func answers(asks chan<- chan struct{}) bool {
	timeout := time.After(answerTime)
	asked := make(chan struct{})
	select {
	case asks <- asked:
	case <-timeout:
		return false
	}
	select {
	case <-asked:
		return true
	case <-timeout:
		return false
	}
}

// serve listens. Where it cannot, the run trains all the same.
func (o *options) serve(hub *observe.Hub, feed *serve.Feed, asks chan<- chan struct{}, dropped map[string]func() int64) (done func()) {
	var reasons []string
	for _, rule := range o.Rules().All() {
		reasons = append(reasons, rule.Reason)
	}
	server, err := serve.Listen(o.seen.metrics, serve.Config{
		Metrics: metrics.Registry(metrics.Config{
			Version: versionText(), Go: runtime.Version(), Reasons: reasons, Look: hub.Look, Dropped: dropped, Now: time.Now,
		}),
		At: hub.At, Alive: func() bool { return answers(asks) }, Feed: feed, Log: o.Log,
		Names: "A name that leads to this machine goes into --metrics-addr NAME:PORT",
	})
	if err != nil {
		o.Log.Error("cannot serve metrics and health; training continues", "err", err)
		return func() {}
	}
	return server.Close
}
