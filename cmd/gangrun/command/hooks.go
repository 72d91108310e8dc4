package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/gangrun/gangrun/supervisor"
)

// defaultHookTimeout is how long one exit hook may take.
const defaultHookTimeout = 30 * time.Second

// mostHooks bounds the hooks of a kind: the message has to name all of them.
const mostHooks = 64

// hookSettings are those about the commands that run when the workers are gone.
func (o *options) hookSettings() []*setting {
	h := &o.Hooks
	h.Timeout = defaultHookTimeout
	return []*setting{
		{name: "on-exit", many: true, group: groupStopping, hint: "COMMAND", parse: hookCommand(&h.OnExit), standard: "none",
			usage: "run this on every node when its workers are gone, however they ended; can be given several times; " +
				"split into words, not run by a shell"},
		{name: "on-job-end", many: true, group: groupStopping, hint: "COMMAND", parse: hookCommand(&h.OnJobEnd), standard: "none",
			usage: "run this once for the job, on the node that ends it; not when the job is only suspended"},
		{name: "hook-timeout", group: groupStopping, hint: "TIME", parse: hookTimeout(h), standard: defaultHookTimeout.String(),
			usage: "how long each hook may run before it gets SIGTERM, and SIGKILL --restart-grace later"},
		{name: "hook-failure", group: groupStopping, hint: "fail|ignore", parse: hookFailure(h), standard: hookFailureFail,
			usage: "what a failed hook means after a successful training; fail: exit code 92, ignore: it is noted in the message"},
	}
}

const (
	hookFailureFail   = "fail"
	hookFailureIgnore = "ignore"
)

// prepareHooks gives the hooks their environment, if there are any, and refuses those that could not be started: otherwise
// this would only show when training is over. Where a hook's failure is only reported, so is this.
func (o *options) prepareHooks(settings []*setting) error {
	if len(o.Hooks.OnExit)+len(o.Hooks.OnJobEnd) == 0 {
		return nil
	}
	o.Hooks.Env = workerEnvironment(settings)
	for _, err := range o.Hooks.Missing(o.Dir) {
		if !o.Hooks.Ignore {
			return &configError{err.Error()}
		}
		o.warnings = append(o.warnings, err.Error())
	}
	return nil
}

func hookFailure(h *supervisor.Hooks) func(string) error {
	return func(s string) error {
		var means string
		err := choice(&means, hookFailureFail, hookFailureIgnore)(s)
		h.Ignore = means == hookFailureIgnore
		return err
	}
}

func hookCommand(list *[][]string) func(string) error {
	return func(s string) error {
		words, err := splitWords(s)
		switch {
		case err != nil:
			return err
		case len(*list) == mostHooks:
			return fmt.Errorf("want at most %d of them", mostHooks)
		}
		*list = append(*list, words)
		return nil
	}
}

func hookTimeout(h *supervisor.Hooks) func(string) error {
	return func(s string) error {
		if err := duration(&h.Timeout)(s); err != nil {
			return err
		}
		if h.Timeout == 0 {
			return errors.New("the time cannot be 0")
		}
		return nil
	}
}
