package agent

import (
	"github.com/gangrun/gangrun/exitcodes/crash"
)

// compareNodes hands this node the names of those for which the others wait: it tells of them for the whole job.
func (l *leader) compareNodes() {
	if l.looks {
		return
	}
	for _, s := range l.slow.Look(l.view, l.now()) {
		select {
		case l.reports <- func(n *node) { n.order(Order{Slow: &s}) }:
		case <-l.ctx.Done(): // the node waits for the leader's end, and hears nothing
			return
		}
	}
}

// comparesNoMore takes the names back: whoever leads now compares from the start.
func (l *leader) comparesNoMore() {
	for _, s := range l.slow.Leave() {
		crash.Go(func() { l.report(func(n *node) { n.order(Order{Slow: &s}) }) })
	}
}
