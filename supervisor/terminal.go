package supervisor

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/signals"
)

// terminal is the controlling terminal on standard input, when there is one and it is ours to hand to the worker: a
// program in the background must not take it. At most one worker has it (Worker.Terminal).
type terminal struct {
	present bool // a terminal controls us
	handed  bool // it is the worker's
	leader  bool // we lead the session: no shell with job control is above us
	scope   Scope
	given   bool                 // it has been, once
	expect  map[unix.Signal]bool // that the kernel sends for what we do ourselves
	modes   *unix.Termios
}

func findTerminal(scope Scope) *terminal {
	t := &terminal{scope: scope}
	if _, err := unix.IoctlGetInt(0, unix.TIOCGPGRP); err != nil {
		return t // no terminal, or not the one that controls us
	}
	t.present = true
	t.modes, _ = unix.IoctlGetTermios(0, unix.TCGETS) // nil, then there is nothing to restore
	session, err := unix.Getsid(0)
	t.leader = err == nil && (session == os.Getpid() || os.Getpid() == 1)
	t.handed = t.inFront()
	if scope == ScopeSession {
		// The worker's new session can only have the terminal if ours gives it up, which only its leader can do.
		t.handed = t.handed && t.leader
	}
	return t
}

// prepare prepares for the worker, which takes the terminal over as it starts, and reports whether there is one to take.
// The kernel tells the leader of a session that gives its terminal up with SIGHUP and SIGCONT, which are not from
// outside. The terminal of a session goes away with it, so it can be given only once.
func (t *terminal) prepare() bool {
	again := t.given
	t.given = true
	if !t.handed || t.scope != ScopeSession {
		return t.handed
	}
	if again {
		t.handed = false
		return false
	}
	t.expect = map[unix.Signal]bool{unix.SIGHUP: true, unix.SIGCONT: true}
	_ = unix.IoctlSetInt(0, unix.TIOCNOTTY, 0) // it is ours, so this cannot fail
	return true
}

// hand brings a worker's group to the foreground. One that was quicker and has already wanted the terminal was stopped
// for that, and goes on when the node hears of it.
func (t *terminal) hand(group int) {
	signals.Ignoring(unix.SIGTTOU, func() {
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, group) // it may have ended already
	})
}

// found is the terminal in the node's words.
func (t *terminal) found() node.Terminal {
	return node.Terminal{Present: t.present, Leader: t.leader, Handed: t.handed}
}

// expected reports whether the signal is the kernel's answer to what we did ourselves; once each.
func (t *terminal) expected(sig unix.Signal) bool {
	found := t.expect[sig]
	delete(t.expect, sig)
	return found
}

// inFront reports whether we are the terminal's foreground process group.
func (t *terminal) inFront() bool {
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// bring brings a worker's group to the foreground later on, and reports whether it has the terminal then. take does so
// from the background: the kernel stops us, too, until a shell brings us to the front, by itself and not by our own
// SIGSTOP, which might come right after the shell has done so. A worker that was so quick that it wanted the terminal
// before it was handed over has it by now.
func (t *terminal) bring(group int, take bool) (handed bool) {
	set := func() { t.handed = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, group) == nil }
	if !take {
		set()
		return t.handed
	}
	if now, err := unix.IoctlGetInt(0, unix.TIOCGPGRP); err != nil || now != group {
		signals.Defaulting(unix.SIGTTOU, set)
	}
	return t.handed
}

// restore takes the terminal back from a worker that is gone, in the modes in which it was found: one that was killed
// could not leave it as it should.
func (t *terminal) restore() {
	if !t.handed || t.modes == nil || t.scope == ScopeSession {
		return
	}
	signals.Ignoring(unix.SIGTTOU, func() { // which a program in the background gets for either
		if unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp()) == nil {
			_ = unix.IoctlSetTermios(0, unix.TCSETSW, t.modes)
		}
	})
}
