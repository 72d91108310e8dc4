package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// Hooks are commands that run on this node once its workers are gone for good, whatever became of them. They run one
// after the other, all of them, without a terminal and with nothing to read.
type Hooks struct {
	OnExit   [][]string    // each a command with its arguments
	OnJobEnd [][]string    // after those, and only on the node that has ended the whole job
	Env      []string      // to which the outcome is added
	Timeout  time.Duration // of each, from its start to SIGTERM; SIGKILL follows after Config.RestartGrace
	Ignore   bool          // a hook that fails is only reported
}

// hook is one command that is due.
type hook struct {
	flag string // by which it was given
	argv []string
}

// name is the hook's name in the message. The arguments stay out: they may hold what is not for everybody.
func (h hook) name() string { return h.flag + ":" + filepath.Base(h.argv[0]) }

// hookResult is what became of one hook. A code of 0 is a success; what is the end of a sentence about it.
type hookResult struct {
	name   string
	code   int
	what   string
	output []byte // the end of it
}

// due lists the hooks to run, in order.
func (h *Hooks) due(jobEnds bool) (due []hook) {
	for _, argv := range h.OnExit {
		due = append(due, hook{"on-exit", argv})
	}
	if jobEnds {
		for _, argv := range h.OnJobEnd {
			due = append(due, hook{"on-job-end", argv})
		}
	}
	return due
}

// runHooks runs the hooks of a run that has ended like this, and returns how it ends with them.
func (s *Supervisor) runHooks(end exitcodes.Message) exitcodes.Message {
	due := s.cfg.Hooks.due(s.endsJob)
	if len(due) == 0 {
		return end
	}
	// Meanwhile the others hear that this node has gone: they must not wait for our hooks, or count on us.
	go s.cfg.Agent.Close()
	env := s.hookEnvironment(end)
	var results []hookResult
	for _, h := range due {
		r := s.runHook(h, env)
		if r.code != 0 {
			s.log.Error("the exit hook "+r.name+" "+r.what, "command", h.argv[0], "code", r.code)
		}
		results = append(results, r)
	}
	end = withHooks(end, results, s.cfg.Hooks.Ignore)
	s.records.write(end)
	return end
}

// withHooks adds to the end of a run what became of its hooks. They never make it better: training that has failed
// keeps its verdict and its code.
func withHooks(end exitcodes.Message, results []hookResult, ignore bool) exitcodes.Message {
	var failed []hookResult
	for _, r := range results {
		end.Hooks = append(end.Hooks, exitcodes.Hook{Name: r.name, ExitCode: r.code})
		if r.code != 0 {
			failed = append(failed, r)
		}
	}
	if len(failed) == 0 || ignore || end.Verdict != exitcodes.Success {
		return end
	}
	end.Verdict, end.Reason, end.ExitCode = exitcodes.Fatal, exitcodes.ReasonExitHookFailed, exitcodes.CodeExitHookFailed
	end.Message = "training succeeded, but the exit hook " + failed[0].name + " " + failed[0].what
	if n := len(failed) - 1; n > 0 {
		end.Message += fmt.Sprintf(", and %d more failed", n)
	}
	end.LogTail = string(failed[0].output)
	return end
}

// The variables by which a hook learns the outcome. One that is not known is not set.
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

// oneLine makes a text, some of which may come from a worker's output, fit for a variable: one bounded line without
// control characters. A zero byte would keep the hook from being started at all.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return rendezvous.Sentence(strings.TrimSpace(s))
}

// outcomeFile writes the record into a file for the hooks; the path is empty where there can be none.
func (s *Supervisor) outcomeFile(end exitcodes.Message) (path string) {
	if path = s.scratch.path("outcome.json"); path == "" {
		return ""
	}
	if err := os.WriteFile(path, append(end.Encode(s.cfg.MessageMax), '\n'), 0o600); err != nil {
		s.log.Warn("no file with the outcome for the exit hooks", "err", err)
		return ""
	}
	return path
}
