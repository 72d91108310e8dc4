package rulefile

import (
	"strings"
	"testing"
)

func TestReadRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"rules:\n  - {name: x, role: root, pattern: '(['}":                 "f.yaml:2: rule x: error parsing regexp",
		"rules:\n  - {name: x, role: rot, pattern: a}":                     `f.yaml:2: rule x: role "rot"`,
		"rules:\n  - {name: x, role: root, pattern: a, verdict: ok}":       `f.yaml:2: rule x: verdict "ok"`,
		"rules:\n  - {name: x, role: root}":                                "f.yaml:2: rule x has neither a pattern nor exit codes",
		"rules:\n  - {name: x, role: root, exitCodes: [300]}":              "f.yaml:2: rule x: exit code 300",
		"rules:\n  - {name: x, role: root, exitCodes: [3], literals: [a]}": "f.yaml:2: rule x has literals but no pattern",
		"rules:\n  - {role: root, pattern: a}":                             "f.yaml:2: a rule without a name",
		"rules:\n  - {name: x, role: root, patern: a}":                     `f.yaml:2: unknown key "patern"`,
		"rules:\n  - x": "f.yaml:2: a rule is a mapping",
		"rules:\n  - {name: x, role: root, pattern: a}\n  - {name: x, role: root, pattern: b}":          "f.yaml:3: rule x stands here twice",
		"rules:\n  - {name: x, role: root, pattern: a, literals: [" + strings.Repeat("a", 40000) + "]}": "f.yaml:2: the literals",
		"rule: []": "f.yaml: ",
		"":         "f.yaml: ",
		"rules: [": "f.yaml: ",
	} {
		_, err := Read("f.yaml", []byte(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", in, err, want)
		}
	}
}
