package exitcodes

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"sync"

	"github.com/gangrun/gangrun/exitcodes/rulefile"
)

// Role says how a line of the log relates to the failure. A higher role is more likely to be the cause.
type Role int

const (
	RoleNone    Role = iota
	RoleNoise        // says nothing: advice, repetition
	RoleConfirm      // confirms other evidence, decides nothing
	RoleCascade      // the result of a failure elsewhere
	RoleSuspect      // may be the cause or a result
	RoleRoot         // a cause
)

func (r Role) String() string {
	if r <= RoleNone || r > RoleRoot {
		return "none"
	}
	return rulefile.Roles[RoleRoot-r]
}

func roleOf(name string) Role { return RoleRoot - Role(slices.Index(rulefile.Roles, name)) }

// Rule is one line of the ordered list that reads logs.
type Rule struct {
	Name      string
	Role      Role
	Literals  []string              // one of these is in every line that Pattern matches; empty: every line is tried
	Pattern   func() *regexp.Regexp // nil without one; it is compiled at the first call
	ExitCodes []int                 // the rule holds only for these exit codes; without a Pattern, for these alone
	Verdict   Verdict
	// AfterProgress replaces Verdict once the round is known to have made a step.
	AfterProgress Verdict
	Reason        string
	// PrintedSteps says that for AfterProgress a step counts which the worker only printed, where it reports none: how much of a
	// GPU's memory a step needs is a matter of its batch, while a bug that waits in a later epoch comes back in it.
	PrintedSteps bool
	// OnSuccess makes the rule hold for exit code 0 too, where every other rule is not even tried.
	OnSuccess bool
	// EndsProgram says that a line of an experiment tracker which the rule fits is what the program ended of. Else a tracker's
	// line counts for nothing once somebody else has said what went wrong.
	EndsProgram bool
	// Seen names the program and version that was made to print the text; empty when that was not possible.
	Seen   string
	signal int // of a family whose verdict is preempted
}

// Rules is an ordered list of rules: where several say the same role, the earlier one wins. It may be shared between
// goroutines.
type Rules struct {
	list     []Rule
	order    map[string]int
	families bool // what no rule knows is judged by its family
	own      int  // how many at the start are the user's
	filter   func() *prefilter
}

// NoRules leaves the base rule alone.
func NoRules() *Rules { return newRules(nil) }

//go:generate go run ./rulefile/generate rules.yaml builtin.go

// BuiltinRules is the list of rules.yaml. It is made at the first call, which the first failure of a run waits for.
var BuiltinRules = sync.OnceValue(builtinRules)

func builtinRules() *Rules {
	list := make([]Rule, len(builtin))
	for i, rule := range builtin {
		list[i] = newRule(rule)
	}
	rules := newRules(list)
	rules.families = true
	return rules
}

// All returns the rules in order.
func (r *Rules) All() []Rule { return slices.Clone(r.list) }

func newRules(list []Rule) *Rules {
	order := map[string]int{}
	for i, rule := range list {
		order[rule.Name] = i
	}
	return &Rules{list: list, order: order, filter: sync.OnceValue(func() *prefilter { return newPrefilter(list) })}
}

// ParseRules reads a rule list in YAML. Its rules come before those of base (which may be nil); a rule named like one
// in base takes that one's place away, and with "disabled: true" only does that. Errors name the file and line.
func ParseRules(file string, data []byte, base *Rules) (*Rules, error) {
	read, err := rulefile.Read(file, data)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	var list []Rule
	for _, rule := range read {
		names[rule.Name] = true
		if !rule.Disabled {
			list = append(list, newRule(rule))
		}
	}
	own := len(list)
	if base != nil {
		for _, rule := range base.list {
			if !names[rule.Name] {
				list = append(list, rule)
			}
		}
	}
	rules := newRules(list)
	rules.own = own
	rules.families = base != nil && base.families
	return rules, nil
}

// newRule takes over a rule that has been checked. Its expression is compiled at the first use.
func newRule(r rulefile.Rule) Rule {
	rule := Rule{
		Name: r.Name, Role: roleOf(r.Role), Literals: r.Literals, ExitCodes: r.ExitCodes, Verdict: Verdict(r.Verdict),
		AfterProgress: Verdict(r.AfterProgress), Reason: r.Reason, PrintedSteps: r.PrintedSteps, OnSuccess: r.OnSuccess,
		EndsProgram: r.EndsProgram, Seen: r.Seen,
	}
	if r.Pattern != "" {
		rule.Pattern = lazy(r.Pattern)
	}
	return rule
}

// Match is a line of a log and the rule that it fits.
type Match struct {
	Rule Rule
	Line string
}

// signal is what the pattern's group of that name says, as a number or a name: which signal asked for the end. Without one it was
// SIGTERM.
func (m Match) signal() int {
	if m.Rule.signal > 0 {
		return m.Rule.signal
	}
	if m.Rule.Pattern == nil {
		return sigterm
	}
	if i := m.Rule.Pattern().SubexpIndex("signal"); i > 0 {
		if groups := m.Rule.Pattern().FindStringSubmatch(m.Line); groups != nil {
			name := groups[i]
			if name == "KeyboardInterrupt" || m.Rule.Name == interruptRule {
				name = "SIGINT"
			}
			if n, err := ParseSignal(name); err == nil {
				return n
			}
		}
	}
	return sigterm
}

// Line returns the first rule, in order, that holds for a worker with this exit code (-1: killed by a signal) and whose
// pattern fits the line, or nil.
func (r *Rules) Line(line []byte, code int) *Rule {
	rule, _ := r.fit(line, code, &meter{budget: math.MaxInt})
	return rule
}

// fit is Line within a budget. could reports whether the words of a rule are in the line: whatever the exit code, none fits
// one without.
func (r *Rules) fit(line []byte, code int, m *meter) (rule *Rule, could bool) {
	m.pass(1, len(line))
	for i := range r.filter().candidates(line) {
		could = true
		rule := &r.list[i]
		if !rule.holds(code) {
			continue
		}
		if !m.afford(1, len(line)) {
			return nil, true
		}
		if rule.Pattern().Match(line) {
			return rule, true
		}
	}
	return nil, could
}

func (r *Rule) holds(code int) bool {
	if code == 0 && !r.OnSuccess {
		return false
	}
	return len(r.ExitCodes) == 0 || slices.Contains(r.ExitCodes, code)
}

// better reports whether a later line's rule says more than the best so far: a stronger role, or an earlier rule. A
// family comes after all rules.
func (r *Rules) better(rule, than *Rule) bool {
	if rule.Role != than.Role {
		return rule.Role > than.Role
	}
	return r.place(rule) <= r.place(than)
}

func (r *Rules) place(rule *Rule) int {
	if i, found := r.order[rule.Name]; found {
		return i
	}
	return len(r.list)
}

func exitCodeLine(code int) string { return fmt.Sprintf("exit code %d", code) }
