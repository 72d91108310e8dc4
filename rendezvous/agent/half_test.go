package agent

import (
	"context"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// half is a watch that does not show everything.
type half struct {
	store.Watcher
	out chan store.Update
}

// through is a watch of which each update goes through see, which may change it, hold it up, or keep it from being shown.
func through(ctx context.Context, w store.Watcher, see func(*store.Update) bool) *half {
	h := &half{w, make(chan store.Update)}
	go func() {
		defer close(h.out)
		for u := range w.Updates() {
			if !see(&u) {
				continue
			}
			select {
			case h.out <- u:
			case <-ctx.Done():
			}
		}
	}()
	return h
}

func (h *half) Updates() <-chan store.Update { return h.out }
