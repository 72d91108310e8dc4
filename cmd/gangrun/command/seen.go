package command

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/gangrun/gangrun/observe"
	"github.com/gangrun/gangrun/observe/file"
	"github.com/gangrun/gangrun/observe/record"
)

// seen is what the flags say about how others see the run. Without one of them nothing is recorded.
type seen struct {
	events string // path
}

func (o *options) seenSettings() []*setting {
	return []*setting{
		{name: "events", group: groupSeen, hint: "FILE", parse: text(&o.seen.events), standard: "none",
			usage: "append what happens to this file, as one JSON object on one line each"},
	}
}

// lastEvents bounds how long the end of a run waits for those who see it.
const lastEvents = 2 * time.Second

// openSeen has the supervisor observed where somebody wants to see it. What it returns is called at the end.
func (o *options) openSeen() (done func()) {
	var receivers []observe.Receiver
	var closers []func()
	if o.seen.events != "" {
		w := file.Open(o.seen.events, file.DefaultSize, o.Log)
		receivers = append(receivers, w.Take)
		closers = append(closers, func() { w.Close(lastEvents) })
	}
	if len(receivers) == 0 {
		return func() {}
	}
	var source [6]byte
	rand.Read(source[:]) // never fails
	hub := observe.New(record.Config{
		Source: hex.EncodeToString(source[:]), Version: versionText(), Job: o.Job, Node: o.Node, Role: o.Role,
		MaxRestarts: o.MaxRestarts, StartedAt: o.StartedAt,
	}, receivers...)
	o.Observe = hub.Observe
	return func() {
		for _, f := range closers {
			f()
		}
	}
}
