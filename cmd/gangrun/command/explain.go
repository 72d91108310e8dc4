package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/plain"
)

// explaining has the flags of explain.
type explaining struct {
	log, rules, output string
	code               int
	codeGiven          bool
}

const explainNote = `Without arguments: all codes of gangrun. REASON and RULE are what its log shows as reason= and rule=; MESSAGE is a
termination message, as JSON text or the name of a file that holds one; "rules" lists the rules that read logs. To judge
a log as a run would: gangrun explain --log FILE --code CODE, with --rules FILE for your own rules.
Exits 0, 64 for a mistake or an empty log, 66 when FILE cannot be read.
`

func (x *explaining) settings() []*setting {
	code := number(&x.code, 0, 255)
	return []*setting{
		{name: "log", group: groupOwn, hint: "FILE", parse: text(&x.log),
			usage: "say how it is read, and what is made of it; - is standard input"},
		{name: "code", group: groupOwn, hint: "CODE", standard: "1, or what gangrun's own lines in the log say",
			parse: func(s string) error { x.codeGiven = true; return code(s) },
			usage: "with --log: the exit code of the worker that printed it"},
		{name: "rules", group: groupOwn, hint: "FILE|none", parse: text(&x.rules), standard: "the built-in rules",
			usage: "with --log, or rules: the rules of this file come first, as with gangrun run"},
		{name: "output", short: "o", group: groupOwn, hint: "text|json", parse: choice(&x.output, "text", "json"), standard: "text",
			usage: "form of what is printed"},
		{name: "rules-file", group: groupOwn, hidden: true, parse: func(string) error {
			return errors.New("it is --rules FILE now, as with gangrun run")
		}},
	}
}

func explainCommand() *cli.Command {
	x := &explaining{output: "text", code: 1}
	settings := x.settings()
	return &cli.Command{
		Name:  "explain",
		Usage: "explain a code, a reason, a rule, a signal, a termination message or a log",
		CustomHelpTemplate: help("explain", "[flags] [CODE | REASON | RULE | SIGNAL | MESSAGE | rules]",
			"explain 137\n         gangrun explain OOMKilled\n         kubectl logs POD | gangrun explain --log - --code 1", explainNote, settings),
		Before: withoutSupervising,
		Flags:  flags(settings),
		OnUsageError: func(c *cli.Context, err error, _ bool) error {
			if strings.HasSuffix(err.Error(), "needs an argument: -rules") {
				return &configError{"--rules: a value is missing; to list the rules: gangrun explain rules"}
			}
			return usage(c, err)
		},
		Action: func(c *cli.Context) error {
			if err := resolveGiven(settings); err != nil {
				return err
			}
			return x.explain(newExplainer(stdout, x.output == "json"), c.Args().Slice())
		},
	}
}

// explain does what is asked for, and refuses arguments that it would ignore.
func (x *explaining) explain(e explainer, args []string) error {
	listing := len(args) > 0 && args[0] == "rules"
	switch {
	case len(args) > 1:
		return &configError{fmt.Sprintf("one thing at a time: %q is one too many", args[1])}
	case x.log != "" && listing:
		return &configError{"explain rules lists the rules, --log tries them: one at a time"}
	case x.log != "" && len(args) > 0:
		return &configError{fmt.Sprintf("%q is one too many: with --log the worker's exit code is --code %[1]s", args[0])}
	case x.codeGiven && x.log == "":
		return &configError{"--code goes with --log; to explain a code: gangrun explain CODE"}
	case x.rules != "" && x.log == "" && !listing:
		return &configError{"--rules goes with explain rules, which lists them, or with --log FILE, which tries them"}
	}
	switch x.rules {
	case "":
	case "none":
		e.rules = exitcodes.NoRules
	default:
		rules, err := readRules(x.rules)
		if err != nil {
			return &configError{"--rules: " + err.Error()}
		}
		e.rules = func() *exitcodes.Rules { return rules }
	}
	switch {
	case listing:
		return e.showRules()
	case x.log != "":
		return e.log(x.log, x.code, x.codeGiven)
	case len(args) == 0:
		return e.codes()
	}
	return e.argument(args[0])
}

type explainer struct {
	out   io.Writer
	json  bool
	rules func() *exitcodes.Rules
}

// newExplainer explains to a person, or in JSON to a program. Messages and logs are others' words: a person's terminal is not
// steered by them.
func newExplainer(out io.Writer, json bool) explainer {
	if !json {
		out = plainly{out}
	}
	return explainer{out: out, json: json, rules: exitcodes.BuiltinRules}
}

// plainly writes lines as they may stand on a terminal.
type plainly struct{ to io.Writer }

func (p plainly) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.to, plain.Lines(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// explained is a code and what each operator does with it.
type explained struct {
	exitcodes.Meaning
	Signal    string               `json:"signal,omitempty"`
	Do        string               `json:"do,omitempty"` // what a person can do
	Reactions []exitcodes.Reaction `json:"reactions"`
}

func explain(code int, signal string) explained {
	m := exitcodes.MeaningOf(code)
	a := adviceOnEnd(m.Reason, m.Verdict)
	return explained{m, signal, a.do, exitcodes.Reactions(code)}
}

func (e explainer) argument(arg string) error {
	if strings.TrimSpace(arg) == "" { // such as what kubectl prints of a pod that has not ended
		return &configError{"the argument is empty: if it was to be a pod's termination message, the pod has none (yet)"}
	}
	if code, err := strconv.Atoi(arg); err == nil {
		if code < 0 || code > 255 {
			return &configError{fmt.Sprintf("%d is not an exit code; those are 0 to 255", code)}
		}
		return e.code(explain(code, ""))
	}
	if n, err := exitcodes.ParseSignal(arg); err == nil {
		return e.code(explain(exitcodes.CodeSignalBase+n, exitcodes.SignalName(n)))
	}
	if r, found := reasonOf(arg); found {
		return e.reason(r)
	}
	if rule, found := e.ruleOf(arg); found {
		return e.rule(rule)
	}
	if text, found := families[arg]; found {
		return e.family(arg, text)
	}
	text, where := []byte(arg), ""
	if !strings.Contains(arg, "{") {
		var err error
		if text, err = readBounded(arg, 64<<10); errors.Is(err, fs.ErrNotExist) && strings.Contains(arg, "/") { // nothing but a path has one
			return &absentError{err.Error()}
		}
		if err != nil {
			return &configError{fmt.Sprintf("%q is not a code, a reason, a rule, a signal, a termination message or a file that holds one%s (%v)",
				arg, nearest(arg, slices.Concat(reasonNames(), e.ruleNames())), err)}
		}
		where = arg + ": "
	}
	m, err := exitcodes.ParseMessage(text)
	if err != nil {
		if where != "" {
			err = fmt.Errorf("%s%w; to judge the output of a worker: gangrun explain --log %s", where, err, arg)
		}
		return &configError{err.Error()}
	}
	return e.message(m)
}

func (e explainer) code(x explained) error {
	if e.json {
		return e.encode(x)
	}
	fmt.Fprintf(e.out, "%d  %s  %s\n%s\n", x.Code, x.Verdict, x.Reason, x.Text)
	e.todo(x.Do)
	fmt.Fprintln(e.out)
	e.reactions(x.Reactions)
	return nil
}

func (e explainer) reactions(list []exitcodes.Reaction) {
	for _, r := range list {
		fmt.Fprintf(e.out, "%-22s %s\n", r.By, r.Does)
	}
}

func (e explainer) codes() error {
	if e.json {
		var all []explained
		for _, m := range exitcodes.Codes() {
			all = append(all, explain(m.Code, ""))
		}
		return e.encode(all)
	}
	tab := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "CODE\tVERDICT\tREASON\tMEANING")
	for _, m := range exitcodes.Codes() {
		fmt.Fprintf(tab, "%d\t%s\t%s\t%s\n", m.Code, m.Verdict, m.Reason, m.Text)
	}
	fmt.Fprintln(tab, "other 1-127\tfatal\tError, or a rule's\tthe worker's own code")
	fmt.Fprintln(tab, "other 128-255\tretry\tError, KilledBy..., or a rule's\tthe worker's own code, or 128+n: death by signal n")
	if err := tab.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(e.out, "\ngangrun explain CODE says what a person can do, and what the operators do with it; gangrun explain REASON, which rules give it.")
	return nil
}

func (e explainer) message(m exitcodes.Message) error {
	if e.json {
		return e.encode(struct {
			Message   exitcodes.Message    `json:"message"`
			Do        string               `json:"do,omitempty"`
			Reactions []exitcodes.Reaction `json:"reactions"`
		}{m, adviceAbout(m), exitcodes.Reactions(m.ExitCode)})
	}
	fmt.Fprintf(e.out, "%s: %s (exit code %d)\n%s\n", m.Verdict, m.Reason, m.ExitCode, m.Message)
	line := func(name string, value any) { fmt.Fprintf(e.out, "  %-12s %v\n", name, value) }
	if m.Job != "" || m.Node != "" {
		line("job, node", strings.TrimPrefix(m.Job+", "+m.Node, ", "))
	}
	if c := m.RootCause; c != nil {
		cause := c.Reason
		if c.Rank != nil {
			cause += fmt.Sprintf(", rank %d", *c.Rank)
		}
		if c.Node != "" {
			cause += ", node " + c.Node
		}
		line("root cause", cause)
		if c.Rule != "" {
			line("rule", c.Rule)
		}
		line("evidence", c.Evidence)
	}
	if r := m.Restarts; r != nil {
		line("restarts", fmt.Sprintf("%d of %d used", r.Used, r.Max))
	}
	if m.Step != nil {
		line("step", *m.Step)
	}
	if m.LogTail != "" {
		fmt.Fprintf(e.out, "  last output:\n    %s\n", strings.ReplaceAll(strings.TrimRight(m.LogTail, "\n"), "\n", "\n    "))
	}
	e.todo(adviceAbout(m))
	fmt.Fprintln(e.out)
	e.reactions(exitcodes.Reactions(m.ExitCode))
	return nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (e explainer) encode(v any) error {
	enc := json.NewEncoder(e.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// readBounded reads a whole file that is not longer than most bytes.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return data, err
}
