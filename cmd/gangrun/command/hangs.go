package command

import (
	"log/slog"

	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// hangSettings are the settings of how a hang is found, and what follows.
func (o *options) hangSettings() []*setting {
	return []*setting{
		{name: "hang-timeout", group: groupHang, hint: "TIME", parse: positive(&o.Hang.Timeout), standard: "60s, or five times the slowest step if that is longer; 15m where no steps are known",
			usage: "this long without a step is a hang; where no steps are known, this long without output"},
		{name: "exit-timeout", group: groupHang, hint: "TIME", parse: positive(&o.Hang.ExitTimeout), standard: "60s",
			usage: "how long a worker may linger after its last words say that it failed, or after STOPPING=1, before it is ended"},
		{name: "hang", group: groupHang, hint: "act|observe|off", standard: "act where steps are known, else observe",
			parse: choice(&o.Hang.Mode, hang.Act, hang.Observe, hang.Off),
			usage: "act: end the workers with 212 (Hang), which is worth a restart; observe: only report it, and keep the evidence"},
		{name: "python-stacks", group: groupHang, hint: "on|off", parse: choice(&o.stacks, "on", "off"), standard: "on",
			usage: "set PYTHONFAULTHANDLER=1 for the workers, unless it is set, and have those that hang write their stacks"},
		{name: "torch-control-plane", group: groupHang, isBool: true, parse: boolean(&o.TorchControlPlane),
			usage: "have import torch start its worker server in each rank, which shows the collectives that the rank has joined"},
		{name: "step-regex", group: groupHang, hint: "RE", parse: o.parseStepRegex, standard: "the lines of --framework, or the first that fit",
			usage: `a line of output that matches shows a step; the first group is its number: "step (\d+)"`},
	}
}

func (o *options) parseStepRegex(s string) (err error) {
	o.StepLines, err = progress.Custom(s)
	return err
}

// settleHangs completes the settings about hangs.
func (o *options) settleHangs() {
	if o.StepLines == nil {
		o.StepLines = progress.Find(o.framework)
	}
	o.PythonStacks = o.stacks == "on"
	if o.HangDir == nil {
		o.HangDir = func() string { return o.logDir }
	}
}

// sayHangs says at the start what a hang would lead to if nothing is restarted. With auto it depends on steps, which most
// scripts do not report.
func (o *options) sayHangs(log *slog.Logger) {
	if o.spec.Restarts.Max == 0 && o.Hang.Mode == hang.Act {
		log.Info("if the workers hang, the job exits with 212 (Hang), since --max-restarts is 0; --hang observe only reports a hang")
	}
}
