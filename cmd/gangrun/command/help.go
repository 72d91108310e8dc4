package command

import (
	"github.com/urfave/cli/v2"

	"fmt"
	"io"
	"slices"
	"strings"
)

// The headings of the help, in the order in which they come.
const (
	groupRanks      = "Ranks"
	groupRehearse   = "Rehearsing failures"
	groupTorchrun   = "As torchrun's"
	groupJob        = "Job and node"
	groupNodes      = "Several nodes"
	groupRestarts   = "Restarts"
	groupStopping   = "Stopping"
	groupVerdict    = "Verdict and message"
	groupHang       = "Workers that hang"
	groupMachine    = "Sick machines"
	groupOutput     = "Output of the workers"
	groupCheckpoint = "Checkpoints"
	groupSeen       = "Monitoring"
	groupOwn        = "gangrun itself"
)

var groups = []string{
	groupTorchrun, groupRanks, groupRehearse, groupRestarts, groupCheckpoint, groupJob, groupNodes, groupStopping, groupVerdict,
	groupHang, groupMachine, groupOutput, groupSeen, groupOwn,
}

const configurable = `Every flag can also be set by the variable GANGRUN_<FLAG> (--max-restarts: GANGRUN_MAX_RESTARTS) and in the file
named by --config. A flag outranks the variable, the variable the file.`

// needed are the flags that most people need; --help shows these of the commands that have many.
var needed = []string{
	"max-restarts", "checkpoint-dir", "framework", "nodes", "store", "endpoint", "job", "grace", "time-limit", "rules", "log-dir", "config",
}

// helpAll asks for the help with all flags. It is no setting: it comes right after the command.
const helpAll = "--help-all"

// topHelp is the help of the program, as the library fills it in.
const topHelp = `Usage: gangrun COMMAND [flags] ...

Example: gangrun run -- torchrun --standalone --nproc-per-node 8 train.py

{{.Name}}: {{.Usage}}. Version {{.Version}}

Commands:{{range .VisibleCommands}}
  {{.Name}}{{"\t"}}{{.Usage}}{{end}}

gangrun help COMMAND shows its help. gangrun explain and docs/troubleshooting.md say what to do about a failure.
`

// summary is the line that the list of commands has, as the library fills it in.
const summary = "{{.HelpName}}: {{.Usage}}"

// help is the help of one command: what it is called with, an example, and its settings by group.
func help(name, arguments, example, description string, settings []*setting) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s\n\nExample: gangrun %s\n\n%s\n", strings.TrimSpace("gangrun "+name+" "+arguments), example, summary)
	if description != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSuffix(description, "\n"))
	}
	for _, group := range groups {
		heading := "\n" + group + ":\n"
		for _, s := range settings {
			if s.group != group || s.hidden {
				continue
			}
			left, right := s.help()
			fmt.Fprintf(&b, "%s  %s\n        %s\n", heading, left, right)
			heading = ""
		}
	}
	return b.String()
}

// shortHelp is help with the flags that most people need, and those of the groups that make the command what it is.
func shortHelp(name, arguments, example, description string, settings []*setting, groups ...string) string {
	var few []*setting
	for _, s := range settings {
		if slices.Contains(needed, s.name) || slices.Contains(groups, s.group) {
			few = append(few, s)
		}
	}
	return help(name, arguments, example, description, few) +
		fmt.Sprintf("\ngangrun %s %s lists all %d flags, docs/configuration.md too.\n", name, helpAll, len(settings))
}

// showAll prints the help with all flags of the commands that have many.
func showAll(w io.Writer, name string, commands []*cli.Command) bool {
	full := map[string]func() string{
		"run": func() string {
			o := defaultOptions()
			return help("run", runArguments, runExample, configurable, o.runSettings())
		},
		"launch": func() string {
			o := defaultOptions()
			return help("launch", launchArguments, launchExample, launchNote, o.launchSettings())
		},
		"local": func() string {
			l := &localOptions{options: defaultOptions()}
			return help("local", localArguments, localExample, configurable, l.settings())
		},
	}[name]
	if full == nil {
		return false
	}
	i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.Name == name })
	fmt.Fprint(w, strings.Replace(full(), summary, "gangrun "+name+": "+commands[i].Usage, 1))
	return true
}

// helpCommand and versionCommand exist only to be listed: rearranged turns them into flags.
func helpCommand() *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "show the help of a command", Before: withoutSupervising,
		CustomHelpTemplate: help("help", "[COMMAND]", "help launch", "The same as gangrun COMMAND --help.\n", nil),
		Action: func(c *cli.Context) error {
			words := c.Args().Slice()
			if n := knownWords(c.App.Commands, words); n < len(words) {
				return &configError{fmt.Sprintf("help: %q is not a command; want gangrun help COMMAND", words[n])}
			}
			return cli.ShowAppHelp(c)
		},
	}
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version", Before: withoutSupervising,
		CustomHelpTemplate: help("version", "", "version", "The same as gangrun --version.\n", nil),
		Action: func(c *cli.Context) error {
			return &configError{fmt.Sprintf("version takes no arguments: %q is one too many", c.Args().First())}
		},
	}
}
