package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/configuration.md is written from the settings, so that it cannot disagree with them.
func TestConfigurationPage(t *testing.T) {
	const page = "../../../docs/configuration.md"
	want := configurationPage()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the settings say; UPDATE_GOLDEN=1 go test ./cmd/gangrun rewrites it", page)
	}
}

func configurationPage() string {
	var b strings.Builder
	b.WriteString(`# Configuration

A setting is taken from its flag, else from its variable, else from the file that --config names, else from the default. The
file is YAML, with the names of the flags as keys:

` + "```yaml\nmax-restarts: 5\ngrace: 50s\npod-grace: 60s\nsignal-map: [15:10, 2:0]\n```" + `

- An unknown flag or key, or an invalid value, ends gangrun with 64 and one line that names it; nothing is started. The same
  goes for a flag that would do nothing, such as --store-ca without a store.
- A variable, a key or a flag for several nodes may be set for other jobs as well, a variable also for another of the three
  commands, and gangrun local takes the file of another. Where it does nothing, one line of the log, which begins with ` + "`without effect:`" + `, names it.
- Of two that contradict each other, such as --quiet and --log-level, the one from the higher source wins, and a line names the
  other in the same way; two flags end gangrun with 64.
- A file or directory that a command is to read and that does not exist is 66; a missing file of settings (--config, --rules)
  is 64. 74: what a command prints cannot be written to standard output.
- Durations are written as 500ms, 90s, 2m or 1h30m.
- Relative paths start at the directory in which gangrun was started.
- The variables are not passed on to the workers.

`)
	o := defaultOptions()
	table(&b, "gangrun run", o.runSettings(), nil)
	table(&b, "gangrun launch, beside those of run", o.launchSettings(), o.runSettings())
	l := &localOptions{options: defaultOptions()}
	table(&b, "gangrun local, beside those of run that are not about several nodes", l.settings(), o.runSettings())
	return b.String()
}

// table lists the settings that are not among others.
func table(b *strings.Builder, title string, settings, others []*setting) {
	fmt.Fprintf(b, "## %s\n\n| flag | variable | default | |\n|---|---|---|---|\n", title)
	for _, s := range settings {
		if slices.ContainsFunc(others, func(o *setting) bool { return o.name == s.name && o.usage == s.usage }) {
			continue
		}
		left, _ := s.help()
		variable := "`" + s.variable() + "`"
		if s.group == groupTorchrun && s.name != "numa-binding" && s.name != "logs-specs" {
			variable += ", `PET_" + strings.TrimPrefix(s.variable(), variablePrefix) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", strings.ReplaceAll(left, "|", `\|`), variable, strings.ReplaceAll(s.standard, "|", `\|`), s.usage)
	}
	b.WriteString("\n")
}

// TestValuesInPages: a flag that a page gives a value can have it, in a job of several nodes too. What is left to the reader
// is in capitals, or is a choice.
func TestValuesInPages(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	given, placeholder := regexp.MustCompile("`--([a-z-]+)[ =]([^`]+)`"), regexp.MustCompile(`^[A-Z]|[A-Z]$|\||\.\.\.|…|:[A-Z]`)
	read := 0
	for _, page := range append(pages, "../../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range given.FindAllStringSubmatch(string(text), -1) {
			name, value := m[1], strings.Trim(m[2], "'")
			l := &localOptions{options: defaultOptions()}
			var refused []error // by each command that has the flag
			for _, s := range append(l.runSettings(), l.settings()...) {
				if s.name == name && !placeholder.MatchString(value) && !strings.Contains(value, " --") {
					refused = append(refused, s.parse(value))
				}
			}
			if len(refused) == 0 {
				continue
			}
			read++
			if !slices.Contains(refused, nil) {
				t.Errorf("%s: %s: %v", filepath.Base(page), m[0], refused)
			}
			l.location.Endpoints = []string{"http://etcd:2379"}
			if err := l.checkTimes(); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(page), m[0], err)
			}
		}
	}
	if read < 60 {
		t.Errorf("%d values read", read)
	}
}
