// Package rulefile reads lists of rules in YAML, and says what is wrong with one.
package rulefile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Rule is one of a file, as docs/rules.md describes it.
type Rule struct {
	Name          string   `yaml:"name"`
	Role          string   `yaml:"role"`
	Literals      []string `yaml:"literals"`
	Pattern       string   `yaml:"pattern"`
	ExitCodes     []int    `yaml:"exitCodes"`
	Verdict       string   `yaml:"verdict"`
	AfterProgress string   `yaml:"afterProgress"`
	Reason        string   `yaml:"reason"`
	PrintedSteps  bool     `yaml:"printedSteps"`
	OnSuccess     bool     `yaml:"onSuccess"`
	EndsProgram   bool     `yaml:"endsProgram"`
	Seen          string   `yaml:"seen"`
	Disabled      bool     `yaml:"disabled"`
}

var (
	// Roles are what a rule can be, the strongest first.
	Roles    = []string{"root", "suspect", "cascade", "confirm", "noise"}
	verdicts = []string{"retry", "fatal", "preempted"}
	keys     = []string{"name", "role", "literals", "pattern", "exitCodes", "verdict", "afterProgress", "reason",
		"printedSteps", "onSuccess", "endsProgram", "seen", "disabled"}
)

// maxLiterals bounds what it costs to look for all literals of a file.
const maxLiterals = 32 << 10

// Read reads a file of rules and checks each, its expression among the rest. Errors name the file and line.
func Read(file string, data []byte) ([]Rule, error) {
	doc, err := readDocument(file, data)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	var list []Rule
	literals := 0
	for _, node := range doc.Rules {
		rule, err := read(node)
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
		list = append(list, rule)
	}
	return list, nil
}

func read(node yaml.Node) (rule Rule, err error) {
	// A yaml.Node decodes leniently, so unknown keys are looked for by hand.
	if err := knownKeys(node); err != nil {
		return rule, err
	}
	if err := node.Decode(&rule); err != nil {
		return rule, inYAML(err)
	}
	if rule.Name == "" {
		return rule, errors.New("a rule without a name")
	}
	if !rule.Disabled {
		err = rule.check()
	}
	return rule, err
}

func (r Rule) check() error {
	if r.Role == "" {
		return fmt.Errorf("rule %s has no role; want one of %s", r.Name, strings.Join(Roles, ", "))
	}
	if !slices.Contains(Roles, r.Role) {
		return fmt.Errorf("rule %s: role %q is not one of %s", r.Name, r.Role, strings.Join(Roles, ", "))
	}
	for _, v := range []string{r.Verdict, r.AfterProgress} {
		if v != "" && !slices.Contains(verdicts, v) {
			return fmt.Errorf("rule %s: verdict %q is not one of %s", r.Name, v, strings.Join(verdicts, ", "))
		}
	}
	for _, code := range r.ExitCodes {
		if code < 0 || code > 255 {
			return fmt.Errorf("rule %s: exit code %d is not within 0 to 255", r.Name, code)
		}
	}
	if r.PrintedSteps && r.AfterProgress == "" {
		return fmt.Errorf("rule %s has printedSteps but no afterProgress", r.Name)
	}
	switch {
	case r.Pattern != "":
		if _, err := regexp.Compile(r.Pattern); err != nil {
			return fmt.Errorf("rule %s: %w", r.Name, err)
		}
	case len(r.ExitCodes) == 0:
		return fmt.Errorf("rule %s has neither a pattern nor exit codes", r.Name)
	case len(r.Literals) > 0:
		return fmt.Errorf("rule %s has literals but no pattern", r.Name)
	}
	return nil
}

func knownKeys(node yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return errors.New("a rule is a mapping of keys to values")
	}
	for i := 0; i < len(node.Content); i += 2 {
		if key := node.Content[i].Value; !slices.Contains(keys, key) {
			return fmt.Errorf("unknown key %q; a rule has %s", key, strings.Join(keys, ", "))
		}
	}
	return nil
}
