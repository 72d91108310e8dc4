package main

import (
	"bufio"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// logger is a process that survives every signal that can be survived and names each one it gets.
type logger struct {
	name    string
	exit    int
	count   int
	relay   int
	linger  time.Duration
	answers map[syscall.Signal]int // exit codes
	family  []*exec.Cmd
}

func newLogger(args []string) *logger {
	l := &logger{answers: make(map[syscall.Signal]int)}
	fs := flag.NewFlagSet("log", flag.ExitOnError)
	fs.StringVar(&l.name, "name", "worker", "what to call itself")
	fs.IntVar(&l.exit, "exit", -1, "end with this `code` once ready")
	fs.IntVar(&l.count, "count", 0, "end with code 7 after this many signals, which are not named one by one")
	fs.IntVar(&l.relay, "relay", 0, "pass this `signal` on to the processes it started")
	fs.DurationVar(&l.linger, "linger", 0, "how long it takes to end after a signal of -on")
	fs.Func("on", "`SIGNAL=CODE`: end with CODE on SIGNAL", func(s string) error {
		sig, code, _ := strings.Cut(s, "=")
		n, err := strconv.Atoi(sig)
		if err != nil {
			return err
		}
		l.answers[syscall.Signal(n)], err = strconv.Atoi(code)
		return err
	})
	descend := func(as string, attr *syscall.SysProcAttr) func(string) error {
		return func(spec string) error {
			cmd := exec.Command(os.Args[0], append([]string{as}, split(spec)...)...)
			cmd.SysProcAttr = attr
			l.family = append(l.family, cmd)
			return nil
		}
	}
	fs.Func("child", "start a probe in its own process group, with these `flags`", descend("log", nil))
	fs.Func("session", "start a probe in a session of its own, with these `flags`",
		descend("log", &syscall.SysProcAttr{Setsid: true}))
	fs.Func("headless", "start a probe without its first thread, with these `flags`", descend("headless", nil))
	fs.Parse(args)
	return l
}

// split cuts flags at spaces, and at bars for those of a probe that the other one starts in turn.
func split(spec string) []string {
	flags := strings.Fields(spec)
	for i, flag := range flags {
		flags[i] = strings.ReplaceAll(flag, "|", " ")
	}
	return flags
}

func logSignals(args []string) {
	l := newLogger(args)
	got := make(chan os.Signal, 1024)
	signal.Notify(got)
	for _, cmd := range l.family {
		startReady(cmd)
	}
	tell("%s ready %d", l.name, os.Getpid())
	os.Stdout.WriteString("ready\n")
	if l.exit >= 0 {
		os.Exit(l.exit)
	}
	time.AfterFunc(lifetime, func() { fail("%s is still here", l.name) })
	seen := 0
	for s := range got {
		if s == syscall.SIGURG || s == syscall.SIGCHLD {
			continue // the Go runtime's own, and its children's
		}
		if seen++; seen == l.count {
			os.Exit(7)
		}
		if l.count == 0 {
			l.answer(s.(syscall.Signal))
		}
	}
}

func (l *logger) answer(sig syscall.Signal) {
	tell("%s %d", l.name, sig)
	if int(sig) == l.relay {
		for _, cmd := range l.family {
			cmd.Process.Signal(sig)
		}
	}
	if code, ends := l.answers[sig]; ends {
		time.Sleep(l.linger)
		tell("%s done", l.name)
		os.Exit(code)
	}
}

// startReady starts another probe and returns when it has its signal handlers.
func startReady(cmd *exec.Cmd) {
	cmd.ExtraFiles = []*os.File{events}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		fail("%v", err)
	}
	if err := cmd.Start(); err != nil {
		fail("%v", err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		fail("a child: %v", err)
	}
}
