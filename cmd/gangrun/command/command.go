// Package command is what gangrun's command line does: flags, variables and configuration file, and then the packages
// that do the work.
package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/signals"
)

// version is set by the linker for releases.
var version = ""

// program is one run of the program.
type program struct {
	openTree OpenTree
	code     int // to exit with
}

// Run does what the arguments say, of which the first is the program's name, and returns the exit code. By then any error
// has been printed to standard error.
func Run(args []string) (code int) {
	crash.Handle(func(what any, stack []byte) { // until there is a termination message to say it in
		fmt.Fprintf(os.Stderr, "gangrun: internal error: %v\n%s", what, stack)
		os.Exit(exitcodes.CodeInternalError)
	})
	if filepath.Base(args[0]) == launcherName {
		args = append([]string{"gangrun", "launch"}, args[1:]...)
	}
	if len(args) > 1 && args[1] == supervisor.RelayCommand {
		signals.Default()
		supervisor.Relay(args[2:])
		return 0
	}
	if len(args) == 3 && args[1] == supervisor.ProbeCommand {
		signals.Default()
		supervisor.ProbeDirectory(args[2])
		return 0
	}
	p := &program{openTree: openTree}
	commands := append([]*cli.Command{
		runCommand(p), launchCommand(p), localCommand(p), explainCommand(), doctorCommand(p),
		installCommand(), installTorchrunCommand(), completionCommand(), checkpointCommand(p), statusCommand(p), reportCommand(p),
	}, slices.Concat(verbCommands(p), []*cli.Command{helpCommand(), versionCommand()})...)
	if len(args) > 2 && args[2] == helpAll && showAll(stdout, args[1], commands) {
		return printed(0)
	}
	ownMistakes(commands)
	app := &cli.App{
		Writer:                stdout,
		Name:                  "gangrun",
		Usage:                 "run a training job, know why it died, restart all of it together",
		Version:               versionText(),
		CustomAppHelpTemplate: topHelp,
		HideHelpCommand:       true,
		Flags:                 []cli.Flag{cli.HelpFlag}, // not added where there is a command help
		Commands:              commands,
		OnUsageError:          func(c *cli.Context, err error, _ bool) error { return usage(c, err) },
		ExitErrHandler:        func(*cli.Context, error) {}, // codes are decided here, not in the library
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				return notCommand(name, c.App)
			}
			return cli.ShowAppHelp(c)
		},
	}
	err := app.Run(rearranged(args, app.Commands))
	_, mistake := errors.AsType[*configError](err)
	_, absent := errors.AsType[*absentError](err)
	switch {
	case stdout.err != nil: // some return it, too
		return printed(p.code)
	case err == nil:
		return p.code
	case mistake:
		code = exitcodes.CodeBadConfig
	case absent:
		code = codeNoInput
	default:
		code = exitcodes.CodeInternalError
	}
	fmt.Fprintln(os.Stderr, "gangrun:", plain.Lines(err.Error()))
	return code
}

// printed is the code to exit with, unless what was to be printed could not be.
func printed(code int) int {
	if stdout.err == nil {
		return code
	}
	fmt.Fprintln(os.Stderr, "gangrun: standard output cannot be written, and is incomplete:", stdout.err)
	return codeIO
}

func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(text, s.Value[:min(12, len(s.Value))]) {
			text += " " + s.Value
		}
	}
	return text
}

// withoutSupervising gives the signals back their usual meaning before a command that supervises nothing.
func withoutSupervising(*cli.Context) error {
	signals.Default()
	return nil
}
