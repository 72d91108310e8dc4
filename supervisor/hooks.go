package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/output"
	"github.com/gangrun/gangrun/supervisor/process"
)

// Hooks are commands that run on this node once its workers are gone for good, however they ended. All of them run, one
// after the other, without a terminal and with empty input.
type Hooks struct {
	OnExit   [][]string    // each a command with its arguments
	OnJobEnd [][]string    // after those, and only on the node that has ended the whole job
	Env      []string      // to which the outcome is added
	Timeout  time.Duration // of each, from its start to SIGTERM; SIGKILL follows after Config.RestartGrace
	Ignore   bool          // a hook that fails is only reported
}

// hookNames are the hooks' names in the message. The arguments are left out: they may hold secrets.
func hookNames(flag string, hooks [][]string) (names []string) {
	for _, argv := range hooks {
		names = append(names, flag+":"+filepath.Base(argv[0]))
	}
	return names
}

// Missing says which hooks could not be started from the directory dir, and why: better now than when training is over.
// A look-up that takes more than a few seconds counts as found.
func (h *Hooks) Missing(dir string) (missing []error) {
	for n := range len(h.OnExit) + len(h.OnJobEnd) {
		flag, argv := h.number(n)
		_, err := task.Within(openTime, func() (string, error) { return process.Find(argv[0], dir, environ.Get(h.Env, "PATH")) }, nil)
		if err != nil && err != task.ErrLate {
			missing = append(missing, fmt.Errorf("--%s %s: %w", flag, argv[0], err))
		}
	}
	return missing
}

// number is the hook of that number: its flag and its command.
func (h *Hooks) number(n int) (flag string, argv []string) {
	if n < len(h.OnExit) {
		return "on-exit", h.OnExit[n]
	}
	return "on-job-end", h.OnJobEnd[n-len(h.OnExit)]
}

// hookProcess is a hook that runs.
type hookProcess struct {
	pid       int // 0: it is about to be started
	cancelled bool
	streams   []*output.Stream
	tail      output.Tail
}

// startHook starts a hook once its command was found, beside the loop.
func (s *Supervisor) startHook(e node.StartHook) {
	flag, argv := s.cfg.Hooks.number(e.Number)
	if s.hookEnv == nil {
		s.hookEnv = s.hookEnvironment(e.End)
	}
	env := append(s.hookEnv[:len(s.hookEnv):len(s.hookEnv)], hookVariable+"="+flag)
	h := &hookProcess{}
	s.hook = h
	s.beside(func() func() {
		path, err := s.findCommand(argv[0], environ.Get(env, "PATH"))
		return func() {
			if h.cancelled {
				return
			}
			if err == nil {
				err = s.forkHook(h, "["+flag+"] ", process.Spec{Path: path, Argv: argv, Env: env, Dir: s.cfg.Dir, NewSession: true})
			}
			if err != nil {
				s.step(node.NotForked{Worker: node.Hook, Failure: *failureOf(err)})
				return
			}
			s.log.Debug("exit hook started", "hook", flag, "pid", h.pid)
		}
	})
}

// forkHook starts a hook, in a session of its own, so that no terminal is in its reach.
func (s *Supervisor) forkHook(h *hookProcess, prefix string, spec process.Spec) error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	spec.Files = []uintptr{null.Fd()}
	for _, console := range []*output.Console{s.stdout, s.stderr} {
		stream, file, err := output.NewStream(output.StreamConfig{Console: console, Prefix: prefix, Tail: &h.tail})
		if err != nil {
			return err
		}
		defer file.Close() // a copy: the hook has its own
		h.streams, spec.Files = append(h.streams, stream), append(spec.Files, file.Fd())
	}
	h.pid, err = s.reaper.Start(spec)
	return err
}

// cancelHook gives up a hook whose command cannot be read in time, and reports whether there was one.
func (s *Supervisor) cancelHook() bool {
	if s.hook.pid != 0 || s.hook.cancelled {
		return false
	}
	s.hook.cancelled = true
	return true
}

// flushHook ends the output of a hook that is over.
func (s *Supervisor) flushHook() {
	h := s.hook
	s.besideEvent(func() node.Event {
		deadline := time.Now().Add(drainTime)
		for _, stream := range h.streams {
			stream.Drain(deadline)
		}
		return node.HookFlushed{Output: h.tail.Bytes()}
	})
}

// The variables that tell a hook the outcome. What is unknown is not set.
const (
	hookVariable           = "GANGRUN_HOOK" // on-exit or on-job-end
	verdictVariable        = "GANGRUN_VERDICT"
	reasonVariable         = "GANGRUN_REASON"
	messageVariable        = "GANGRUN_MESSAGE" // one line
	exitCodeVariable       = "GANGRUN_EXIT_CODE"
	workerExitCodeVariable = "GANGRUN_WORKER_EXIT_CODE"
	signalVariable         = "GANGRUN_SIGNAL"
	jobVariable            = "GANGRUN_JOB_NAME"
	nodeVariable           = "GANGRUN_NODE_NAME"
	roundVariable          = "GANGRUN_ROUND"
	restartsVariable       = "GANGRUN_RESTARTS_USED"
	stepVariable           = "GANGRUN_STEP"
	checkpointVariable     = "GANGRUN_CHECKPOINT_PATH"
	checkpointStepVariable = "GANGRUN_CHECKPOINT_STEP"
	outcomeFileVariable    = "GANGRUN_OUTCOME_FILE" // the record as JSON
)

// hookEnvironment is what all hooks of a run that has ended like this get, beside their kind.
func (s *Supervisor) hookEnvironment(end exitcodes.Message) []string {
	set := outcomeVariables(end)
	set[outcomeFileVariable] = s.outcomeFile(end)
	set[MemberVariable] = s.cfg.Member
	set[hookVariable], set["NOTIFY_SOCKET"] = "", "" // the socket of gangrun itself, or of a worker that is no more
	env := slices.DeleteFunc(slices.Clone(s.cfg.Hooks.Env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, ours := set[name]
		return ours
	})
	for name, value := range set {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// outcomeVariables is the record as variables; those that are not known are empty.
func outcomeVariables(m exitcodes.Message) map[string]string {
	set := map[string]string{
		verdictVariable: string(m.Verdict), reasonVariable: m.Reason, messageVariable: m.Message,
		exitCodeVariable: fmt.Sprint(m.ExitCode), workerExitCodeVariable: decimal(m.WorkerExitCode), signalVariable: m.Signal,
		jobVariable: m.Job, nodeVariable: m.Node, roundVariable: decimal(m.Round), restartsVariable: "",
		stepVariable: decimal(m.Step), checkpointVariable: "", checkpointStepVariable: "",
	}
	if m.Restarts != nil {
		set[restartsVariable] = fmt.Sprint(m.Restarts.Used)
	}
	if m.Checkpoint != nil {
		set[checkpointVariable], set[checkpointStepVariable] = m.Checkpoint.Path, decimal(m.Checkpoint.Step)
	}
	for name, value := range set {
		set[name] = oneLine(value)
	}
	return set
}

func decimal[N int | int64](n *N) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// oneLine turns a text, which may include a worker's output, into the value of a variable: one bounded line without control
// characters. With a zero byte the hook could not be started at all.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return rendezvous.Sentence(strings.TrimSpace(s))
}

// outcomeFile writes the record to a file for the hooks; the path is empty if it cannot be written.
func (s *Supervisor) outcomeFile(end exitcodes.Message) (path string) {
	if path = s.scratch.path("outcome.json"); path == "" {
		return ""
	}
	if err := os.WriteFile(path, append(end.Encode(s.cfg.MessageMax), '\n'), 0o600); err != nil {
		s.log.Warn("cannot write the outcome file for the exit hooks", "err", err)
		return ""
	}
	return path
}
