package node

import "testing"

var tty = Worker{Rank: -1, LocalRank: -1, Terminal: true}

// TestStopKey is ^Z on a terminal, and what a shell does afterwards.
func TestStopKey(t *testing.T) {
	shell := Terminal{Present: true, Handed: true}
	w := newWorld(t, Policy{Terminal: shell}, tty).start(0, 0)
	w.took()
	// The kernel has stopped the worker's group: gangrun follows, for the shell to see.
	w.at(1*s, Paused{Worker: 0, By: SIGTSTP, Stopped: true}).wants("stop self true")
	// fg: the terminal goes to the worker again, which goes on.
	w.at(2*s, Signaled{Signal: SIGCONT, Front: true}).wants("terminal to 0, SIGCONT to 0's group")
	w.at(2*s, Paused{Worker: 0}).wants("")
	// bg: it continues without.
	w.at(3*s, Paused{Worker: 0, By: SIGTSTP, Stopped: true}).took()
	w.at(4*s, Signaled{Signal: SIGCONT}).wants("SIGCONT to 0's group")
	// It wants to read in the background.
	w.at(5*s, Paused{Worker: 0, By: SIGTTIN, Stopped: true}).wants("terminal to 0, SIGCONT to 0's group")
	// Nothing was stopped: a SIGCONT is one like any other.
	w.at(6*s, Signaled{Signal: SIGCONT}).wants("SIGCONT to 0")
}

// TestStopKeyWithoutAShell is docker run -it: nothing could continue the worker.
func TestStopKeyWithoutAShell(t *testing.T) {
	w := newWorld(t, Policy{Terminal: Terminal{Present: true, Handed: true, Leader: true}}, tty).start(0, 0)
	w.took()
	w.at(1*s, Paused{Worker: 0, By: SIGTSTP, Stopped: true}).wants("SIGCONT to 0's group")
	w.at(1*s, Paused{Worker: 0, By: SIGSTOP, Stopped: true}).wants("")

	// Nor is there anything to follow where there is no terminal, or the news is old.
	w = newWorld(t, Policy{}, tty).start(0, 0)
	w.took()
	w.at(1*s, Paused{Worker: 0, By: SIGTSTP, Stopped: true}).wants("")
	w = newWorld(t, Policy{Terminal: Terminal{Present: true}}, tty).start(0, 0)
	w.took()
	w.at(1*s, Paused{Worker: 0, By: SIGTSTP}).wants("")
}

// TestStopKeyWithRanks stops those in other sessions, too, where the key does not reach them.
func TestStopKeyWithRanks(t *testing.T) {
	w := newWorld(t, Policy{Terminal: Terminal{Present: true, Handed: true}}, Worker{Rank: 0, Terminal: true}, Worker{Rank: 1, Session: true}).start(0, 0)
	w.took()
	w.at(1*s, Paused{Worker: 0, By: SIGTSTP, Stopped: true}).wants("SIGSTOP to 1, stop self true")
	w.at(2*s, Paused{Worker: 1, By: SIGSTOP, Stopped: true}).wants("")
	w.at(3*s, Signaled{Signal: SIGCONT, Front: true}).wants("terminal to 0, SIGCONT to 0's group, SIGCONT to 1's group")
	// A stop continues what is stopped, or it could not answer.
	w.at(4*s, Paused{Worker: 1, By: SIGSTOP, Stopped: true})
	w.signal(5*s, SIGTERM).wants("leave, SIGTERM to 0, SIGTERM to 1, SIGCONT to 1's group")
}

// TestSessions is job control as dumb-init does it.
func TestSessions(t *testing.T) {
	w := newWorld(t, Policy{Sessions: true, WholeGroup: true}, tty).start(0, 0)
	w.took()
	w.signal(1*s, SIGTSTP).wants("SIGSTOP to 0's group, stop self false")
	w.signal(2*s, SIGTTOU).wants("stop self false") // it is stopped already
	w.signal(3*s, SIGCONT).wants("SIGCONT to 0's group")
	// A signal that the map makes one is passed on.
	w = newWorld(t, Policy{Sessions: true, SignalMap: map[Signal]Signal{SIGTERM: SIGTSTP}, StopSignals: []Signal{SIGINT}}, tty).start(0, 0)
	w.took()
	w.signal(1*s, SIGTERM).wants("SIGTSTP to 0")
}

// TestKeysOfTheTerminal end a worker that has it: nothing was passed on, and it is a stop all the same.
func TestKeysOfTheTerminal(t *testing.T) {
	for _, sig := range []Signal{SIGINT, SIGQUIT, SIGHUP} {
		w := newWorld(t, Policy{Terminal: Terminal{Present: true}}, tty)
		w.hold["Fork"] = true
		w.start(0, 0).at(0, Forked{Worker: 0, PID: 5, Handed: true})
		w.dies(1*s, 0, sig).at(1*s, End{})
		w.ended("preempted", 128+int(sig), "")
	}
	w := newWorld(t, Policy{Notice: Notice{Signal: 10}}).start(0, 0).dies(1*s, 0, 10).at(1*s, End{})
	w.ended("preempted", 143, "the notice SIGUSR1 from outside")
}
