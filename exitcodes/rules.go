package exitcodes

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
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

var roleNames = map[string]Role{
	"noise": RoleNoise, "confirm": RoleConfirm, "cascade": RoleCascade, "suspect": RoleSuspect, "root": RoleRoot,
}

func (r Role) String() string {
	for name, role := range roleNames {
		if role == r {
			return name
		}
	}
	return "none"
}

// Rule is one line of the ordered list that reads logs.
type Rule struct {
	Name      string
	Role      Role
	Literals  []string              // one of these is in every line that Pattern matches; empty: every line is tried
	Pattern   func() *regexp.Regexp // nil without one; a built-in rule's is compiled at the first call
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

// maxLiterals bounds the size of the prefilter, together with the built-in rules' literals.
const maxLiterals = 32 << 10

//go:embed rules.yaml
var embedded []byte

// NoRules leaves the base rule alone.
func NoRules() *Rules { return newRules(nil) }

// BuiltinRules is the embedded list. It is parsed at the first call, which the first failure of a run
// waits for.
var BuiltinRules = sync.OnceValue(func() *Rules {
	rules, err := parseRules("rules.yaml", embedded, nil, func(pattern string) (func() *regexp.Regexp, error) {
		return lazy(pattern), nil // the tests compile them all
	})
	if err != nil {
		panic(err) // the tests parse it
	}
	rules.families, rules.own = true, 0
	return rules
})

// All returns the rules in order.
func (r *Rules) All() []Rule { return slices.Clone(r.list) }

func newRules(list []Rule) *Rules {
	order := map[string]int{}
	for i, rule := range list {
		order[rule.Name] = i
	}
	return &Rules{list: list, order: order, filter: sync.OnceValue(func() *prefilter { return newPrefilter(list) })}
}

type ruleFile struct {
	Rules []yaml.Node `yaml:"rules"`
}

type ruleYAML struct {
	Name          string   `yaml:"name"`
	Role          string   `yaml:"role"`
	Literals      []string `yaml:"literals"`
	Pattern       string   `yaml:"pattern"`
	ExitCodes     []int    `yaml:"exitCodes"`
	Verdict       Verdict  `yaml:"verdict"`
	AfterProgress Verdict  `yaml:"afterProgress"`
	Reason        string   `yaml:"reason"`
	PrintedSteps  bool     `yaml:"printedSteps"`
	OnSuccess     bool     `yaml:"onSuccess"`
	EndsProgram   bool     `yaml:"endsProgram"`
	Seen          string   `yaml:"seen"`
	Disabled      bool     `yaml:"disabled"`
}

// ParseRules reads a rule list in YAML. Its rules come before those of base (which may be nil); a rule named like one
// in base takes that one's place away, and with "disabled: true" only does that. Errors name the file and line.
func ParseRules(file string, data []byte, base *Rules) (*Rules, error) {
	return parseRules(file, data, base, func(pattern string) (func() *regexp.Regexp, error) {
		compiled, err := regexp.Compile(pattern)
		return func() *regexp.Regexp { return compiled }, err
	})
}

// compiler makes of an expression what returns it compiled.
type compiler func(pattern string) (func() *regexp.Regexp, error)

func parseRules(file string, data []byte, base *Rules, compile compiler) (*Rules, error) {
	doc, err := readRuleFile(file, data)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	var list []Rule
	literals := 0
	for _, node := range doc.Rules {
		rule, disabled, err := parseRule(node, compile)
		if err == nil && names[rule.Name] {
			err = fmt.Errorf("rule %s stands here twice", rule.Name)
		}
		for _, l := range rule.Literals {
			literals += len(l)
		}
		if err == nil && literals > maxLiterals {
			err = fmt.Errorf("the literals up to here have more than %d bytes together", maxLiterals)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, node.Line, err)
		}
		names[rule.Name] = true
		if !disabled {
			list = append(list, rule)
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

func parseRule(node yaml.Node, compile compiler) (rule Rule, disabled bool, err error) {
	// A yaml.Node decodes leniently, so unknown keys are looked for by hand.
	if err := knownKeys(node); err != nil {
		return rule, false, err
	}
	var y ruleYAML
	if err := node.Decode(&y); err != nil {
		return rule, false, inYAML(err)
	}
	rule = Rule{
		Name: y.Name, Role: roleNames[y.Role], Literals: y.Literals, ExitCodes: y.ExitCodes, Verdict: y.Verdict,
		AfterProgress: y.AfterProgress, Reason: y.Reason, PrintedSteps: y.PrintedSteps, OnSuccess: y.OnSuccess,
		EndsProgram: y.EndsProgram, Seen: y.Seen,
	}
	if y.Name == "" {
		return rule, false, errors.New("a rule without a name")
	}
	if y.Disabled {
		return rule, true, nil
	}
	if rule.Role == RoleNone && y.Role == "" {
		return rule, false, fmt.Errorf("rule %s has no role; want one of root, suspect, cascade, confirm, noise", y.Name)
	}
	if rule.Role == RoleNone {
		return rule, false, fmt.Errorf("rule %s: role %q is not one of root, suspect, cascade, confirm, noise", y.Name, y.Role)
	}
	for _, v := range []Verdict{y.Verdict, y.AfterProgress} {
		switch v {
		case "", Retry, Fatal, Preempted:
		default:
			return rule, false, fmt.Errorf("rule %s: verdict %q is not one of retry, fatal, preempted", y.Name, v)
		}
	}
	for _, code := range y.ExitCodes {
		if code < 0 || code > 255 {
			return rule, false, fmt.Errorf("rule %s: exit code %d is not within 0 to 255", y.Name, code)
		}
	}
	if y.PrintedSteps && y.AfterProgress == "" {
		return rule, false, fmt.Errorf("rule %s has printedSteps but no afterProgress", y.Name)
	}
	switch {
	case y.Pattern != "":
		rule.Pattern, err = compile(y.Pattern)
		if err != nil {
			return rule, false, fmt.Errorf("rule %s: %w", y.Name, err)
		}
	case len(y.ExitCodes) == 0:
		return rule, false, fmt.Errorf("rule %s has neither a pattern nor exit codes", y.Name)
	case len(y.Literals) > 0:
		return rule, false, fmt.Errorf("rule %s has literals but no pattern", y.Name)
	}
	return rule, false, nil
}

func knownKeys(node yaml.Node) error {
	known := []string{"name", "role", "literals", "pattern", "exitCodes", "verdict", "afterProgress", "reason",
		"printedSteps", "onSuccess", "endsProgram", "seen", "disabled"}
	if node.Kind != yaml.MappingNode {
		return errors.New("a rule is a mapping of keys to values")
	}
	for i := 0; i < len(node.Content); i += 2 {
		if key := node.Content[i].Value; !slices.Contains(known, key) {
			return fmt.Errorf("unknown key %q; a rule has %s", key, strings.Join(known, ", "))
		}
	}
	return nil
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
