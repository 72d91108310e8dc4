package node

// jobControl does what a terminal and its stop key ask for, and reports whether the signal is done with.
func (n *Node) jobControl(ev Signaled, to Signal) bool {
	if n.ownSessions() && to.stopsJob() && to == ev.Signal {
		// The workers' sessions stop, and gangrun with them, as the stop key would have them. The key's own signals have no
		// effect there: the kernel ignores them in a session without a shell.
		for i := range n.workers {
			n.suspend(i)
		}
		n.do(StopSelf{})
		return true
	}
	// A second SIGCONT could undo a stop that comes in between.
	return ev.Signal == SIGCONT && n.continued(ev.Front)
}

// ownSessions reports whether workers have sessions of their own.
func (n *Node) ownSessions() bool {
	for i := range n.workers {
		if n.workers[i].Session {
			return true
		}
	}
	return n.policy.Sessions
}

// continued follows a shell that has continued gangrun: in the foreground the terminal goes to the worker, and in any
// case the worker's group, which the terminal had stopped, goes on. It reports whether there was one to continue.
func (n *Node) continued(front bool) (any bool) {
	if !n.policy.Terminal.Present || n.policy.Sessions {
		return false
	}
	for i := range n.workers {
		w := &n.workers[i]
		if w.ended || w.pid == 0 {
			continue
		}
		if w.Terminal && front {
			n.do(GiveTerminal{Worker: i})
		}
		if w.paused {
			n.resume(i)
			any = true
		}
	}
	return any
}

// paused notes that a worker was stopped or continued by job control. What it is now counts, not the news, which may be
// old.
func (n *Node) paused(ev Paused) {
	w := &n.workers[ev.Worker]
	if w.ended || n.dumping { // launchers are stopped then
		return
	}
	own := w.ownPause
	w.ownPause = own && ev.By == 0 // else that stop has yet to take effect
	w.paused = w.ownPause || ev.Stopped
	if ev.By != 0 && w.paused && !own {
		n.stoppedFromTerminal(ev.Worker, ev.By)
	}
}

// stoppedFromTerminal follows a worker that was stopped from the terminal: the shell above can only see gangrun. Where
// there is no shell, nothing could continue the worker, and the terminal's stop key is taken back.
func (n *Node) stoppedFromTerminal(i int, by Signal) {
	t := n.policy.Terminal
	if !t.Present || n.policy.Sessions || !n.workers[i].Terminal {
		return
	}
	switch {
	case by == SIGTTIN || by == SIGTTOU:
		n.do(GiveTerminal{Worker: i, Take: true})
		n.resume(i)
	case !t.Leader:
		for other := range n.workers {
			if other != i {
				n.suspend(other) // it is in another session, where the key does not reach it
			}
		}
		n.do(StopSelf{Group: true})
	case by == SIGTSTP:
		n.resume(i)
	}
}

// suspend stops a worker. gangrun may be stopped itself, and continued, before the news of it comes.
func (n *Node) suspend(i int) {
	if w := &n.workers[i]; !w.ended && w.pid != 0 && !w.paused {
		n.pass(i, SIGSTOP)
		w.paused, w.ownPause = true, true
	}
}

// resume lets a stopped worker go on, and its group.
func (n *Node) resume(i int) {
	w := &n.workers[i]
	w.paused, w.ownPause = false, false
	n.do(Send{Worker: i, Signal: SIGCONT, Group: true})
}
