package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/internal/plain"
)

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:  "completion",
		Usage: "print a script that completes gangrun's commands and flags in a shell",
		CustomHelpTemplate: help("completion", "bash|zsh|fish", "completion bash > /etc/bash_completion.d/gangrun\n"+
			"         gangrun completion fish > ~/.config/fish/completions/gangrun.fish", "", nil),
		Before:       withoutSupervising,
		OnUsageError: func(c *cli.Context, err error, _ bool) error { return usage(c, err) },
		Action: func(c *cli.Context) error {
			write, known := completions[c.Args().First()]
			switch {
			case c.NArg() == 0:
				return &configError{"completion: for which shell? bash, zsh or fish"}
			case c.NArg() > 1:
				return &configError{fmt.Sprintf("completion: one shell at a time: %q is one too many", c.Args().Get(1))}
			case !known:
				return &configError{fmt.Sprintf("completion %s: want one of bash, zsh, fish", plain.Text(c.Args().First()))}
			}
			write(stdout, completable(c.App))
			return nil
		},
	}
}

// completableCommand is a command that can be completed, with its flags.
type completableCommand struct {
	name, usage string
	sub         []string // names of its commands; most have none
	flags       []completableFlag
}

type completableFlag struct {
	long, short, usage string
	values             []string // when there are only these
}

func completable(app *cli.App) []completableCommand {
	var commands []completableCommand
	for _, command := range app.Commands {
		if command.Hidden {
			continue
		}
		c := completableCommand{name: command.Name, usage: command.Usage, sub: subcommandNames(command)}
		for _, command := range append([]*cli.Command{command}, command.Subcommands...) {
			for _, flag := range command.Flags {
				if s, ours := flag.(settingFlag); ours && s.setting.hidden {
					continue
				}
				if f := completableOf(flag); !slices.ContainsFunc(c.flags, func(have completableFlag) bool { return have.long == f.long }) {
					c.flags = append(c.flags, f)
				}
			}
		}
		c.flags = append(c.flags, completableFlag{long: "help", short: "h", usage: "show help"})
		commands = append(commands, c)
	}
	return commands
}

func completableOf(flag cli.Flag) completableFlag {
	f := completableFlag{}
	for _, name := range flag.Names() {
		if len(name) == 1 {
			f.short = name
		} else {
			f.long = name
		}
	}
	if s, ours := flag.(settingFlag); ours {
		f.usage, f.values = s.setting.usage, s.setting.values
		hint := s.setting.hint
		if values := strings.Split(hint, "|"); f.values == nil && len(values) > 1 && strings.ToLower(hint) == hint {
			f.values = values
		}
	}
	return f
}

var completions = map[string]func(io.Writer, []completableCommand){
	"bash": bashCompletion,
	"zsh": func(w io.Writer, commands []completableCommand) {
		fmt.Fprintln(w, "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit")
		bashCompletion(w, commands)
	},
	"fish": fishCompletion,
}

// bashCompletion completes commands and flags of gangrun itself, and the values of flags, after a space and after an
// equals sign. Otherwise it completes files. bash makes a word of the equals sign, unless
// COMP_WORDBREAKS lacks it, and zsh leaves it in the flag's word.
func bashCompletion(w io.Writer, commands []completableCommand) {
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	fmt.Fprintf(w, `_gangrun() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} joined= flags values= commands=
    COMPREPLY=()
    case $word in
    =) word= ;;
    --*=*) joined=${word%%%%=*}= before=${word%%%%=*} word=${word#*=} ;;
    *) [ "$before" = = ] && before=${COMP_WORDS[COMP_CWORD-2]} ;;
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "%s" -- "$word"))
        return
    fi
    case ${COMP_WORDS[1]} in
`, strings.Join(names, " "))
	for _, c := range commands {
		var long []string
		fmt.Fprintf(w, "    %s)\n", c.name)
		for _, f := range c.flags {
			long = append(long, "--"+f.long)
			if f.values != nil {
				fmt.Fprintf(w, "        [ \"$before\" = --%s ] && values=%q\n", f.long, strings.Join(f.values, " "))
			}
		}
		if c.sub != nil {
			fmt.Fprintf(w, "        [ \"$COMP_CWORD\" -eq 2 ] && commands=%q\n", strings.Join(c.sub, " "))
		}
		fmt.Fprintf(w, "        flags=%q ;;\n", strings.Join(long, " "))
	}
	io.WriteString(w, `    esac
    if [ -n "$values" ]; then
        COMPREPLY=($(compgen -P "$joined" -W "$values" -- "$word"))
    elif [ "${word#-}" != "$word" ]; then
        COMPREPLY=($(compgen -W "$flags" -- "$word"))
    elif [ -n "$commands" ]; then
        COMPREPLY=($(compgen -W "$commands" -- "$word"))
    fi
}
complete -o default -F _gangrun gangrun
`)
}

func fishCompletion(w io.Writer, commands []completableCommand) {
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }
	for _, c := range commands {
		fmt.Fprintf(w, "complete -c gangrun -n __fish_use_subcommand -f -a %s -d %s\n", c.name, quote(c.usage))
		if c.sub != nil {
			fmt.Fprintf(w, "complete -c gangrun -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from %s' -f -a %s\n",
				c.name, strings.Join(c.sub, " "), quote(strings.Join(c.sub, " ")))
		}
		for _, f := range c.flags {
			line := fmt.Sprintf("complete -c gangrun -n '__fish_seen_subcommand_from %s' -l %s", c.name, f.long)
			if f.short != "" {
				line += " -s " + f.short
			}
			if f.values != nil {
				line += " -x -a " + quote(strings.Join(f.values, " "))
			}
			fmt.Fprintln(w, line+" -d "+quote(f.usage))
		}
	}
}

// commandNames are the names of the commands, for suggestions.
func commandNames(app *cli.App) []string {
	var names []string
	for _, c := range app.Commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// torchrunCompletion prints a script that completes the flags of torchrun, gangrun's own among them.
func torchrunCompletion(w io.Writer, shell string) error {
	var flags []string
	for _, s := range defaultOptions().launchSettings() {
		flags = append(flags, "--"+s.name)
	}
	all := strings.Join(flags, " ")
	switch shell {
	case "bash":
		fmt.Fprintf(w, "complete -o default -W %q %s\n", all, launcherName)
	case "zsh":
		fmt.Fprintf(w, "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\ncomplete -o default -W %q %s\n", all, launcherName)
	case "tcsh":
		fmt.Fprintf(w, "complete %s 'c/--/(%s)/' 'p/*/f/'\n", launcherName, strings.ReplaceAll(all, "--", ""))
	default:
		return &configError{fmt.Sprintf("--print-completion %s: want one of bash, zsh, tcsh", plain.Text(shell))}
	}
	return nil
}
