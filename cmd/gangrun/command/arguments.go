package command

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// passesOn are the commands that run another program: what follows its name belongs to it, flags included.
var passesOn = []string{"run", "launch", "local"}

// rearranged is the command line as the library wants it. The library stops reading flags at the first argument that is
// not one, but people write gangrun status JOB --store URL. help COMMAND and version become flags.
func rearranged(args []string, commands []*cli.Command) []string {
	if len(args) < 2 {
		return args
	}
	switch args[1] {
	case "version":
		if len(args) == 2 {
			return []string{args[0], "--version"}
		}
	case "help":
		about := slices.DeleteFunc(slices.Clone(args[2:]), isHelp)
		if len(about) > 1 && knownWords(commands, about) < len(about) {
			return slices.Concat(args[:2], []string{"--"}, about) // the command help refuses it
		}
		return slices.Concat(args[:1], about, []string{"--help"})
	}
	if slices.Contains(passesOn, args[1]) {
		if c := commandOf(commands, args[1]); c != nil && !c.SkipFlagParsing && helpAsked(args[2:], c.Flags) {
			return slices.Concat(args[:2], []string{"--help"})
		}
		return args
	}
	args = slices.Clone(args)
	if i := slices.Index(args, helpAll); i > 0 { // the others show all that there is anyway
		args[i] = "--help"
	}
	at := 1
	leaf := commandOf(commands, args[at])
	for leaf != nil && at+1 < len(args) {
		sub := commandOf(leaf.Subcommands, args[at+1])
		if sub == nil {
			break
		}
		leaf, at = sub, at+1
	}
	if leaf == nil || len(leaf.Subcommands) > 0 {
		return args
	}
	return append(slices.Clone(args[:at+1]), flagsFirst(args[at+1:], leaf.Flags)...)
}

func isHelp(arg string) bool { return arg == "--help" || arg == "-h" }

// helpAsked reports whether a flag before the first other argument asks for help. With an argument behind it the
// library would look for a topic of that name.
func helpAsked(args []string, flags []cli.Flag) bool {
	for i := 0; i < len(args) && strings.HasPrefix(args[i], "-") && args[i] != "--"; i++ {
		if isHelp(args[i]) {
			return true
		}
		if takesValue(args[i], flags) {
			i++
		}
	}
	return false
}

// knownWords is how many of the words, from the first on, name a command and those below it.
func knownWords(commands []*cli.Command, words []string) int {
	for i, word := range words {
		c := commandOf(commands, word)
		if c == nil {
			return i
		}
		commands = c.Subcommands
	}
	return len(words)
}

// ownMistakes gives each command our complaint about a wrong flag, and takes from it the library's command help, which
// would take a job or a directory that is called h or help for itself.
func ownMistakes(commands []*cli.Command) {
	for _, c := range commands {
		c.HideHelpCommand = true
		if c.OnUsageError == nil {
			c.OnUsageError = func(c *cli.Context, err error, _ bool) error { return usage(c, err) }
		}
		ownMistakes(c.Subcommands)
	}
}

func commandOf(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// flagsFirst puts the flags before the other arguments, each with its value. An unknown flag counts as one without a
// value: it is refused anyway.
func flagsFirst(args []string, flags []cli.Flag) []string {
	var first, rest []string
	help := false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			rest = append(rest, args[i+1:]...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		first = append(first, arg)
		help = help || isHelp(arg)
		if takesValue(arg, flags) && i+1 < len(args) {
			i++
			first = append(first, args[i])
		}
	}
	switch {
	case help: // with arguments the library looks for a topic of that name
		return []string{"--help"}
	case len(rest) == 0: // a value may be missing
		return first
	}
	return slices.Concat(first, []string{"--"}, rest)
}

// takesValue reports whether the value of the flag is the next argument.
func takesValue(arg string, flags []cli.Flag) bool {
	name := strings.TrimLeft(arg, "-")
	for _, f := range flags {
		if s, ours := f.(settingFlag); ours && slices.Contains(f.Names(), name) {
			return !s.setting.isBool
		}
	}
	return false // --flag=value, too
}

// notCommand is the error for a first argument that is not a command.
func notCommand(name string, app *cli.App) error {
	if _, err := exec.LookPath(name); err == nil {
		return &configError{fmt.Sprintf("%q is not a command of gangrun; to supervise that program: gangrun run -- %s", name, name)}
	}
	if near := nearest(name, commandNames(app)); near != "" {
		return &configError{fmt.Sprintf("%q is not a command%s", name, near)}
	}
	return &configError{fmt.Sprintf("%q is not a command; gangrun help lists them", name)}
}

// elsewhere says whose flag an unknown one is: --max-restarts before the command, --tty-rank behind run. Without one
// that has it, it is "".
func elsewhere(flag string, app *cli.App, own string) string {
	name := strings.TrimLeft(flag, "-")
	for _, c := range app.Commands {
		if c.Name == own {
			continue
		}
		for _, f := range c.Flags {
			if slices.Contains(f.Names(), name) {
				if own == "" {
					return fmt.Sprintf("; flags come after the command: gangrun %s %s ...", c.Name, flag)
				}
				return fmt.Sprintf("; it is a flag of gangrun %s", c.Name)
			}
		}
	}
	return ""
}
