package command

import (
	"log/slog"
	"strings"

	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// hangSettings are the settings of how a hang is found, and what follows.
func (o *options) hangSettings() []*setting {
	return append(o.hangSettingsOfLocal(),
		&setting{name: "framework", group: groupHang, hint: "NAME", parse: o.parseFramework, standard: "the first that fits",
			usage: "whose lines of output show the steps: " + strings.Join(progress.Profiles(), ", ")})
}

// hangSettingsOfLocal are those without --framework, which says something else there.
func (o *options) hangSettingsOfLocal() []*setting {
	return []*setting{
		{name: "hang-timeout", group: groupHang, hint: "TIME", parse: positive(&o.Hang.Timeout), standard: "60s, or five times the slowest step if that is longer",
			usage: "without a step for so long it is a hang; where none is told: without output, and 15m is the default"},
		{name: "hang", group: groupHang, hint: "act|observe|off", standard: "act where steps are told, else observe",
			parse: choice(&o.Hang.Mode, hang.Act, hang.Observe, hang.Off),
			usage: "act: end the workers with 212 (Hang), which is worth a restart; observe: say so and keep the evidence"},
		{name: "python-stacks", group: groupHang, hint: "on|off", parse: choice(&o.stacks, "on", "off"), standard: "on",
			usage: "set PYTHONFAULTHANDLER=1 for the workers, unless it is set, and have those that hang write their stacks"},
		{name: "step-regex", group: groupHang, hint: "RE", parse: o.parseStepRegex, standard: "none",
			usage: `a line of output that matches shows a step; the first group is its number: "step (\d+)"`},
	}
}

func (o *options) parseFramework(s string) (err error) {
	o.Framework, err = progress.Find(s)
	return err
}

func (o *options) parseStepRegex(s string) (err error) {
	o.stepRegex, err = progress.Custom(s)
	return err
}

// settleHangs completes what is said about hangs.
func (o *options) settleHangs() error {
	if o.Framework != nil && o.stepRegex != nil {
		return &configError{"--framework and --step-regex both say how steps are shown: want one of them"}
	}
	if o.stepRegex != nil {
		o.Framework = o.stepRegex
	}
	o.PythonStacks = o.stacks == "on"
	if o.HangDir == nil {
		o.HangDir = func() string { return o.logDir }
	}
	return nil
}

// sayHangs says at the start what a hang would come to where nothing is restarted.
func (o *options) sayHangs(log *slog.Logger) {
	if o.spec.Restarts.Max == 0 && (o.Hang.Mode == hang.Auto || o.Hang.Mode == hang.Act) {
		log.Info("a hang ends the job with 212, since nothing is restarted (--max-restarts 0); --hang observe only says so")
	}
}
