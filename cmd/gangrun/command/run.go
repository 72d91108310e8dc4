package command

import (
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/supervisor/gang"
)

// runSettings are the settings of run.
func (o *options) runSettings() []*setting {
	return append(slices.Concat(o.common(), o.hangSettings(), o.preflightSettings(), o.hookSettings(), o.jobSettings(), o.checkpointSettings(), o.frameworkSettings()),
		&setting{name: "log-dir", group: groupOutput, hint: "DIR", parse: text(&o.logDir), standard: "none",
			usage: "keep the worker's output as round_<n>/0/stdout.log and stderr.log here"},
		&setting{name: "log-prefix", group: groupOutput, hint: "TEXT", parse: text(&o.prefix), standard: "none",
			usage: "put this before every line of the worker on the console"},
	)
}

const (
	runArguments = "[flags] -- COMMAND [ARGUMENT...]"
	runExample   = "run --max-restarts 3 -- torchrun --standalone --nproc-per-node 8 train.py"
)

func runCommand(p *program) *cli.Command {
	o := defaultOptions()
	o.resuming.openTree = p.openTree
	settings := o.runSettings()
	return &cli.Command{
		Name:               "run",
		Usage:              "supervise one command on this node",
		CustomHelpTemplate: shortHelp("run", runArguments, runExample, configurable, settings),
		Flags:              flags(settings),
		OnUsageError:       o.usageError(settings),
		Action: func(c *cli.Context) error {
			err := o.prepare(settings, os.LookupEnv)
			if err == nil && c.NArg() == 0 {
				err = &configError{"no command to run; want gangrun run [flags] -- COMMAND [ARGUMENT...]"}
			}
			if err == nil {
				err = o.settle(o.platform)
			}
			if err == nil {
				err = o.refuseIdle(settings, o.idleAlone(o.platform.Endpoint.Value != ""))
			}
			if err == nil {
				err = o.checkTimes()
			}
			if err == nil {
				err = o.settlePreflight(settings)
			}
			if err == nil {
				err = o.settleResume(c.Args().Slice(), 0)
			}
			if err != nil {
				return badConfig(o, err)
			}
			o.noPort = o.location.InProcess() // then it is left to the command, as it was
			o.Workers = o.resumed(gang.Command{
				Argv: c.Args().Slice(), Env: workerEnvironment(settings), Prefix: o.prefix, LogDir: o.logDir,
				Several: !o.location.InProcess(), Job: o.Job,
			}.Workers)
			p.code = supervise(o)
			return nil
		},
	}
}
