package exitcodes

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes/rulefile"
)

// samples are lines as programs print them, each with the rule that must be the first to fit. testdata/samples.tsv
// has at least one for every rule, and behind some an address at which the wording can be read.
func samples(t testing.TB) map[string][]string {
	t.Helper()
	lines := map[string][]string{}
	for _, field := range table(t, "samples.tsv", 2) {
		line, _, _ := strings.Cut(field[1], "\thttps://")
		lines[field[0]] = append(lines[field[0]], line)
	}
	return lines
}

// The program has the rules that rules.yaml has.
func TestBuiltinRulesAreGenerated(t *testing.T) {
	data, err := os.ReadFile("rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := rulefile.Read("rules.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(builtin, rules) {
		t.Error("builtin.go is not what rules.yaml says now: go generate ./exitcodes")
	}
	for _, rule := range rules {
		if rule.Disabled {
			t.Errorf("%s is disabled; a built-in rule is deleted", rule.Name)
		}
	}
}

func TestEveryRuleFitsItsSamples(t *testing.T) {
	lines := samples(t)
	rules := BuiltinRules()
	for _, rule := range rules.All() {
		if len(lines[rule.Name]) == 0 {
			t.Errorf("%s has no sample", rule.Name)
		}
		for _, line := range lines[rule.Name] {
			got := rules.Line([]byte(line), codeFor(rule))
			if got == nil || got.Name != rule.Name {
				t.Errorf("%q\nfits %v, want %s", line, got, rule.Name)
			}
		}
		delete(lines, rule.Name)
	}
	for name := range lines {
		t.Errorf("a sample for %s, which does not exist", name)
	}
}

// codeFor is an exit code for which the rule holds.
func codeFor(rule Rule) int {
	if len(rule.ExitCodes) > 0 {
		return rule.ExitCodes[0]
	}
	return 1
}

func TestOrdinaryLinesFitNoRule(t *testing.T) {
	for _, line := range ordinary {
		if rule := BuiltinRules().Line([]byte(line), 1); rule != nil {
			t.Errorf("%q fits %s", line, rule.Name)
		}
	}
}

var ordinary = []string{
	"",
	" iteration      100/  500000 | consumed samples:        51200 | elapsed time per iteration (ms): 1234.5 | learning rate: 1.500E-04 | global batch size:   512 | lm loss: 7.654321E+00 |",
	"step 40 loss 0.123456",
	"Epoch 3: 100%|##########| 1563/1563 [00:12<00:00, 125.3it/s, loss=0.021]",
	"INFO:tensorflow:Waiting for the cluster, timeout = inf",
	"UserWarning: The given NumPy array is not writable",
	"{'loss': 1.23, 'learning_rate': 5e-05, 'epoch': 0.5}",
}

// A line of a training run that goes well costs no regular expression: no rule has a literal that such lines have.
func TestLinesOfATrainingRunCostNoExpression(t *testing.T) {
	rules := BuiltinRules()
	for _, line := range ordinary {
		for i := range rules.filter().candidates([]byte(line)) {
			if name := rules.list[i].Name; name != "tf.restart" { // which TensorFlow's own lines may need
				t.Errorf("%q: %s is tried for %q", line, name, rules.list[i].Literals)
			}
		}
	}
}

// The prefilter may let a line through for nothing, but must never hold one back.
func TestPrefilterHoldsNothingBack(t *testing.T) {
	rules := BuiltinRules()
	var pieces []string
	for _, lines := range samples(t) {
		pieces = append(pieces, lines...)
	}
	slices.Sort(pieces)
	random := rand.New(rand.NewPCG(1, 2))
	for range 3_000 {
		a, b := pieces[random.IntN(len(pieces))], pieces[random.IntN(len(pieces))]
		line := []byte(a[random.IntN(len(a)+1):] + b[:random.IntN(len(b)+1)])
		var want *Rule
		for i := range rules.list {
			if p := rules.list[i].Pattern; p != nil && rules.list[i].holds(1) && p().Match(line) {
				want = &rules.list[i]
				break
			}
		}
		if got := rules.Line(line, 1); got != want {
			t.Fatalf("%q: got %v, want %v", line, got, want)
		}
	}
}

func TestParseRules(t *testing.T) {
	base, err := ParseRules("base", []byte("rules:\n  - {name: a, role: root, pattern: aaa}\n  - {name: b, role: root, pattern: bbb}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseRules("mine", []byte(`rules:
  - {name: b, disabled: true}
  - {name: c, role: root, exitCodes: [16], verdict: retry, reason: Rerun}
`), base)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got.All() {
		names = append(names, r.Name)
	}
	if want := []string{"c", "a"}; !slices.Equal(names, want) {
		t.Errorf("rules %v, want %v", names, want)
	}
	if f := Judge(exited(16), got); f.Verdict != Retry || f.Code != 210 || f.Rule != "c" {
		t.Errorf("exit code 16: %+v", f)
	}
	if f := Judge(exited(17), got); f.Verdict != Fatal || f.Code != 17 {
		t.Errorf("exit code 17: %+v", f)
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte("rules:\n  - {name: x, role: root, pattern: a, literals: [a], exitCodes: [1]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rules, err := ParseRules("f", data, nil)
		if err == nil {
			Judge(exited(1).printing("abc"), rules)
		}
	})
}

// Nothing matches: what nearly every line of a log costs.
func BenchmarkRulesPerLine(b *testing.B) {
	rules := BuiltinRules()
	line := []byte(ordinary[1])
	rules.Line(line, 1)
	b.ReportMetric(float64(len(rules.list)), "rules")
	for b.Loop() {
		if rules.Line(line, 1) != nil {
			b.Fatal("it fits")
		}
	}
}

// Each rule that claims to have been seen fits a line that a program printed: one of the recorded outputs.
func TestSeenRulesFitRecordedOutput(t *testing.T) {
	fitted := map[string]bool{}
	rules := BuiltinRules()
	var files []string
	for _, pattern := range []string{"testdata/logs/*.log", "testdata/logs/*.kmsg", "testdata/gpu/*.log", "testdata/provoked/*.log", "testdata/seen.txt"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range readLines(data, newMeter(len(data))) {
			for _, rule := range rules.list {
				holds := func(literal string) bool { return bytes.Contains(l.text, []byte(literal)) }
				if rule.Seen != "" && !fitted[rule.Name] && slices.ContainsFunc(rule.Literals, holds) && rule.Pattern().Match(l.text) {
					fitted[rule.Name] = true
				}
			}
		}
	}
	seen := 0
	for _, rule := range rules.All() {
		if rule.Seen == "" {
			continue
		}
		if seen++; !fitted[rule.Name] {
			t.Errorf("%s is said to have been seen with %s, but fits no line that was recorded", rule.Name, rule.Seen)
		}
	}
	if len(rules.All()) < 120 || seen < 100 {
		t.Errorf("%d rules, %d of them seen", len(rules.All()), seen)
	}
}

// Lines that programs print and that look like what a rule is about, but are not.
func TestNearMisses(t *testing.T) {
	near := map[string]bool{}
	for _, field := range table(t, "near.tsv", 2) {
		name, text := field[0], field[1]
		near[name] = true
		for _, rule := range BuiltinRules().list {
			if rule.Name == name && rule.Pattern().MatchString(text) {
				t.Errorf("%s fits %q", name, text)
			}
		}
	}
	for _, rule := range BuiltinRules().All() {
		if !near[rule.Name] {
			t.Errorf("%s has no near miss", rule.Name)
		}
	}
}
