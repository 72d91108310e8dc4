package command

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// swallowed refuses a flag that has taken the next flag, or the -- before the command, as its value: the value was
// forgotten. Anything else may be a path or a name.
func swallowed(settings []*setting) error {
	for _, s := range settings {
		for _, value := range s.given {
			name, flag := strings.CutPrefix(value, "--")
			name, _, _ = strings.Cut(name, "=")
			if value == "--" || flag && s.name != "resume-args" && slices.Contains(settingNames(settings), name) {
				return wrong("--%s: a value is missing before %s", s.name, value)
			}
		}
	}
	return nil
}

// usage turns the library's error about the command line into ours.
func usage(c *cli.Context, err error) error {
	text := err.Error()
	if name, found := strings.CutPrefix(text, "flag provided but not defined: -"); found {
		name = typed(name, os.Args)
		text = "unknown flag " + name + unknownFlag(c, name)
	}
	if name, found := strings.CutPrefix(text, "flag needs an argument: -"); found {
		text = fmt.Sprintf("%s: a value is missing", typed(name, os.Args))
	}
	if value, name, found := strings.Cut(text, " for flag -"); found && strings.HasPrefix(value, "invalid value ") {
		name, _, _ = strings.Cut(name, ":")
		text = fmt.Sprintf("--%s: %s", name, value)
	}
	return &configError{text}
}

// typed is a flag's name as it was typed: the library leaves its dashes out.
func typed(name string, args []string) string {
	name = strings.TrimLeft(name, "-")
	for _, arg := range args {
		if flag, _, _ := strings.Cut(arg, "="); flag == "-"+name {
			return flag
		}
	}
	return "--" + name
}

// shortValue is the value that was meant for a flag of one letter: what is glued to it, as in -n2, or else the next argument, as
// in the -np 2 of mpirun. Without one that the flag takes, it is "".
func shortValue(f cli.Flag, name string, args []string) string {
	values := []string{name[2:]}
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		values = append(values, args[i+1])
	}
	for _, value := range values {
		if s, ours := f.(settingFlag); ours && s.setting.parse(value) == nil {
			return value
		}
	}
	return ""
}

// unknownFlag is a hint about a flag that the command does not have: which command has it, or what was meant.
func unknownFlag(c *cli.Context, name string) string {
	if name == helpAll {
		return "; it comes right after the command: gangrun " + c.Command.Name + " " + helpAll
	}
	var own string
	var known []string
	if c.Command != nil && c.Command.Name != c.App.Name {
		own = c.Command.Name
		for _, f := range c.Command.Flags {
			known = append(known, "--"+f.Names()[0])
			if short := f.Names()[1:]; len(short) > 0 && strings.HasPrefix(name, "-"+short[0]) {
				if value := shortValue(f, name, os.Args); value != "" {
					return fmt.Sprintf("; did you mean -%s %s?", short[0], value)
				}
			}
		}
		known = append(known, "--help")
		if slices.Contains(passesOn, own) {
			known = append(known, helpAll)
		}
	}
	if name == "--checkpoint-dir" && strings.HasPrefix(c.Command.HelpName, "gangrun checkpoint ") {
		return "; the directory is an argument: " + c.Command.HelpName + " DIR"
	}
	if short := "--" + strings.TrimPrefix(name, "--checkpoint-"); short != name && slices.Contains(known, short) {
		return "; here it is " + short
	}
	if whose := elsewhere(name, c.App, own); whose != "" {
		return whose
	}
	near := nearest(name, known)
	if near == "" && own != "" {
		near = "; gangrun help " + strings.TrimPrefix(c.Command.HelpName, "gangrun ") + " lists them"
		if slices.Contains(passesOn, own) {
			near = "; gangrun " + own + " " + helpAll + " lists them"
		}
	}
	return near
}
