package command

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gangrun/gangrun/exitcodes"
)

// families judge an exception that no rule fits (docs/verdicts.md). Each appears where a rule's name would.
var families = map[string]string{
	"family.data":       "a file of the data that is empty: fatal",
	"family.frame":      "the last frame of a traceback that was cut off, in code that talks to another machine: a retry",
	"family.errno":      "the error number of a system call: what another try or another machine may not meet is a retry",
	"family.http":       "the status of an HTTP response: too many requests and the server's own failures are a retry, the rest is fatal",
	"family.rpc":        "the status of a gRPC call: one that passes, such as UNAVAILABLE, is a retry",
	"family.service":    "the code of a cloud's API: throttling and the service's own failures are a retry, a refusal is fatal",
	"family.memory":     "the memory of a device is full: fatal, a retry once steps were made or printed",
	"family.killed":     "a child process that a signal killed: a retry",
	"family.device":     "what CUDA or another device reported: a failure of the device is a retry, a wrong call is fatal",
	"family.collective": "what NCCL, Gloo or another library of collectives reported: a retry",
	"family.child":      "a child of multiprocessing starts children itself before it has begun: fatal",
	"family.check":      "a check failed of what a call of a library had returned: a retry",
	"family.class":      "the class of the exception: lost connections and timeouts are a retry, a refusal is fatal",
	"family.phrase":     "words of the message that name a condition which passes, such as connection refused: a retry",
	"family.words":      "nothing knows the line, but its words are clearly those of failures that pass: a retry",
	"family.sql":        "the number of a database: connections, deadlocks and what is worth another try there are a retry",
	"family.system":     "what batch systems, clouds, Kubernetes, databases and brokers say of a condition that passes: a retry",
	"family.pipe":       "the pipe to a child process was closed: that child has died, a retry",
	"family.interrupt":  "an interrupt from outside: preempted",
}

// ruleOf finds a rule by its name, as it appears after rule= in a line of gangrun's log.
func (e explainer) ruleOf(name string) (exitcodes.Rule, bool) {
	for _, r := range e.rules().All() {
		if strings.EqualFold(r.Name, name) {
			return r, true
		}
	}
	return exitcodes.Rule{}, false
}

func (e explainer) ruleNames() (names []string) {
	for _, r := range e.rules().All() {
		names = append(names, r.Name)
	}
	return slices.AppendSeq(names, maps.Keys(families))
}

// family shows what a family goes by.
func (e explainer) family(name, text string) error {
	if e.json {
		return e.encode(struct {
			Name string `json:"name"`
			Text string `json:"text"`
		}{name, text})
	}
	fmt.Fprintf(e.out, "%s: %s\nno rule fits the exception; a rule of your own comes before it: docs/rules.md\n", name, text)
	return nil
}

// rule shows one rule, and what its reason means.
func (e explainer) rule(r exitcodes.Rule) error {
	row := rowOfRule(r)
	if e.json {
		return e.encode(row)
	}
	fmt.Fprintf(e.out, "rule %s: %s, role %s\n", row.Name, cmp.Or(row.verdicts(), noVerdict), row.Role)
	if row.Pattern != "" {
		fmt.Fprintf(e.out, "matches: %s\n", row.Pattern)
	}
	if len(row.ExitCodes) > 0 {
		fmt.Fprintf(e.out, "exit codes: %s\n", strings.Trim(fmt.Sprint(row.ExitCodes), "[]"))
	}
	if row.Seen != "" {
		fmt.Fprintf(e.out, "seen with: %s\n", row.Seen)
	}
	if reason, found := reasonOf(row.Reason); found {
		fmt.Fprintf(e.out, "reason %s: %s\n", reason.Name, reason.Text)
		e.todo(reason.Do)
	}
	return nil
}

// ruleRow is a rule as it is shown.
type ruleRow struct {
	Name          string            `json:"name"`
	Role          string            `json:"role"`
	Verdict       exitcodes.Verdict `json:"verdict,omitempty"`
	AfterProgress exitcodes.Verdict `json:"afterProgress,omitempty"`
	Reason        string            `json:"reason,omitempty"`
	Pattern       string            `json:"pattern,omitempty"`
	ExitCodes     []int             `json:"exitCodes,omitempty"`
	OnSuccess     bool              `json:"onSuccess,omitempty"`
	PrintedSteps  bool              `json:"printedSteps,omitempty"`
	EndsProgram   bool              `json:"endsProgram,omitempty"`
	Seen          string            `json:"seen,omitempty"`
}

func rowOfRule(r exitcodes.Rule) ruleRow {
	row := ruleRow{Name: r.Name, Role: r.Role.String(), Verdict: r.Verdict, AfterProgress: r.AfterProgress,
		Reason: r.Reason, ExitCodes: r.ExitCodes, PrintedSteps: r.PrintedSteps, OnSuccess: r.OnSuccess, EndsProgram: r.EndsProgram, Seen: r.Seen}
	if r.Pattern != nil {
		row.Pattern = r.Pattern().String()
	}
	return row
}

func (r ruleRow) verdicts() string {
	verdict := string(r.Verdict)
	if r.AfterProgress != "" {
		verdict += ", after progress " + string(r.AfterProgress)
	}
	if r.OnSuccess {
		verdict += ", for exit code 0 too"
	}
	return verdict
}

func (e explainer) showRules() error {
	var rows []ruleRow
	for _, r := range e.rules().All() {
		rows = append(rows, rowOfRule(r))
	}
	if e.json {
		return e.encode(rows)
	}
	tab := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "RULE\tROLE\tVERDICT\tREASON\tSEEN WITH\tPATTERN")
	for _, r := range rows {
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Role, dash(r.verdicts()), dash(r.Reason), dash(r.Seen), dash(r.Pattern))
	}
	return tab.Flush()
}
