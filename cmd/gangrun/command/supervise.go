package command

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/output"
	"github.com/gangrun/gangrun/supervisor/signals"
	"github.com/gangrun/gangrun/supervisor/termlog"
)

// badConfig writes the error to the termination message too: in a cluster, people look there first.
func badConfig(o *options, err error) error {
	if o.TerminationLog == "" {
		return err
	}
	log, openErr := termlog.Open(o.TerminationLog, o.MessageMax)
	if openErr != nil {
		return err
	}
	defer log.Close()
	_ = log.Write(exitcodes.Message{ // the error is on standard error in any case
		Verdict: exitcodes.Fatal, Reason: exitcodes.ReasonBadConfig, ExitCode: exitcodes.CodeBadConfig,
		Message: err.Error(), FinishedAt: time.Now(),
	})
	return err
}

// usageError reports a mistake on the command line.
func (o *options) usageError(settings []*setting) cli.OnUsageErrorFunc {
	return func(c *cli.Context, err error, _ bool) error {
		_ = resolve(settings, os.LookupEnv) // for what was read before the mistake
		return badConfig(o, usage(c, err))
	}
}

// supervise runs the supervisor and returns the exit code.
func supervise(o *options) (code int) {
	o.Signals = signals.Listen()
	var once sync.Once
	apart := !sameFile(os.Stdout, os.Stderr)
	stdout := output.NewConsole(os.Stdout, output.ConsoleOptions{Report: func(err error) {
		if apart { // else the log would go the same way
			once.Do(func() {
				o.Log.Warn("standard output cannot be written: the workers run on, and what they print there may be lost", "err", err)
			})
		}
	}})
	stderr := stdout
	if apart {
		stderr = output.NewConsole(os.Stderr, output.ConsoleOptions{})
	}
	o.Log = slog.New(o.logHandler(stderr))
	for _, w := range o.warnings {
		o.Log.Warn(w)
	}
	if guessed := o.unknownVariables.guessed; len(guessed) > 0 {
		o.Log.Info(strings.Join(guessed, " "))
	}
	if rest := o.unknownVariables.rest; len(rest) > 0 {
		o.Log.Debug("not known, and without effect: " + strings.Join(rest, ", "))
	}
	if len(o.noted) > 0 {
		o.Log.Info("without effect: " + strings.Join(o.noted, "; "))
	}
	if o.started != nil {
		o.started(o.Log)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a, err := o.join(ctx, o.Log)
	if err != nil {
		fmt.Fprintln(stderr, "gangrun:", badConfig(o, err))
		stderr.Close(time.Now().Add(time.Second))
		return exitcodes.CodeBadConfig
	}
	defer a.Close()
	o.Agent = a
	o.OneProcessor = os.Getenv("GOMAXPROCS") == ""
	closeSeen := o.openSeen(stderr)
	o.sayClosing()
	s, err := supervisor.New(o.Config, stdout, stderr)
	if err != nil {
		return crashed(o, err.Error(), nil)
	}
	fail := func(what any, stack []byte) int {
		s.Kill()
		return crashed(o, fmt.Sprint(what), stack)
	}
	crash.Handle(func(what any, stack []byte) { os.Exit(fail(what, stack)) }) // in any other goroutine
	defer func() {
		if what := recover(); what != nil {
			code = fail(what, debug.Stack())
		}
	}()
	code = s.Run()
	closeSeen()
	return code
}

// sameFile reports whether both lead to the same place (2>&1): lines of the two must not be torn by each other there.
func sameFile(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}

func (o *options) logHandler(w io.Writer) slog.Handler { return flagged{o.logForm(w)} }

func (o *options) logForm(w io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: o.logLevel}
	switch {
	case o.quiet:
		return slog.DiscardHandler
	case o.logFormat == logJSON:
		return slog.NewJSONHandler(w, options)
	case o.forPeople():
		return newLines(w, o.logLevel, colourful(os.Stderr))
	}
	return once{slog.NewTextHandler(w, options)}
}

// forPeople reports whether gangrun's own log is short lines.
func (o *options) forPeople() bool {
	return o.logFormat == logLines || o.logFormat == logAuto && isTerminal(os.Stderr)
}

// The forms of gangrun's own log.
const (
	logAuto  = "auto" // lines on a terminal, else text
	logLines = "lines"
	logText  = "text"
	logJSON  = "json"
)

// crashed says that gangrun itself failed.
func crashed(o *options, what string, stack []byte) int {
	fmt.Fprintf(os.Stderr, "gangrun: internal error: %s\n%s", what, stack)
	if log, err := termlog.Open(o.TerminationLog, o.MessageMax); err == nil {
		defer log.Close()
		_ = log.Write(exitcodes.Message{ // it is on standard error too
			Verdict: exitcodes.Fatal, Reason: exitcodes.ReasonInternalError, ExitCode: exitcodes.CodeInternalError,
			Message: "internal error in gangrun: " + what, LogTail: string(stack), FinishedAt: time.Now(),
		})
	}
	return exitcodes.CodeInternalError
}
