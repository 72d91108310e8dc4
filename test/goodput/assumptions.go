package main

import (
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor"
)

// kind is how an interruption shows.
type kind int

const (
	exits   kind = iota // a worker dies, and its machine is fit
	breaks              // a worker dies of its machine, which leaves
	lost                // a node is gone without a word
	hangs               // nothing moves any more
	planned             // a node is called away, and says so before
	kinds
)

// assumptions are what a simulated training run goes by. docs/goodput.md says where each comes from.
type assumptions struct {
	length time.Duration // of the run
	count  [kinds]int    // interruptions within it

	save    time.Duration // training between two saves
	pause   time.Duration // for which each of them stops the training
	written time.Duration // from then on until it is complete

	notice time.Duration // before a node is called away

	stop   time.Duration // the order to stop to the end of the last process
	look   time.Duration // to find the newest checkpoint
	store  time.Duration // messages between 2,048 nodes, for one restart
	python time.Duration // to import the training's packages
	setup  time.Duration // of the communicators
	load   time.Duration // of the checkpoint
	step   time.Duration // of training

	// nodes is how many are simulated. What is decided, and when, does not depend on it: see TestNodes. The times above are
	// those of the last of 2,048.
	nodes       int
	spares      int           // nodes that wait, beside those that train
	replacement time.Duration // from the end of a node until another one has joined
	operator    time.Duration // until it has run an ended job again
	watchdog    time.Duration // NCCL's, where nothing else ends a hang
	lease       time.Duration // how long a dead node's key outlives it
	fence       rendezvous.Duration
}

// llama3 is the failure rate that Llama 3 was trained at, with gangrun's defaults.
func llama3() assumptions {
	return assumptions{
		length: 54 * 24 * time.Hour,
		count:  [kinds]int{exits: 42, breaks: 256, lost: 74, hangs: 47, planned: 47},

		save: 10 * time.Minute, pause: time.Second, written: 30 * time.Second, notice: 2 * time.Minute,

		stop: supervisor.DefaultRestartGrace, look: time.Second, store: time.Second,
		python: 20 * time.Second, setup: 30 * time.Second, load: time.Minute, step: 6 * time.Second,

		nodes: 3, spares: 1, replacement: 5 * time.Minute, operator: 5 * time.Minute, watchdog: 10 * time.Minute,
		lease: agent.DefaultLease, fence: rendezvous.DefaultSpec(1).Fence,
	}
}

// total is the number of interruptions.
func (a assumptions) total() (n int) {
	for _, c := range a.count {
		n += c
	}
	return n
}

// times has so many times as many interruptions, of the same kinds.
func (a assumptions) times(factor float64) assumptions {
	for i, c := range a.count {
		a.count[i] = int(float64(c)*factor + 0.5)
	}
	return a
}

// share makes so many in a hundred interruptions be of one kind, in place of deaths of workers, or the other way round.
func (a assumptions) share(k kind, percent float64) assumptions {
	want := int(float64(a.total())*percent/100 + 0.5)
	more := want - a.count[k]
	a.count[k] = want
	for _, from := range []kind{exits, breaks} {
		take := min(more, a.count[from])
		a.count[from] -= take
		more -= take
	}
	return a
}

// start is what passes from the order to start to the first step.
func (a assumptions) start() time.Duration { return a.python + a.setup + a.load }
