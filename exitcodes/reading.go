package exitcodes

import (
	"slices"
	"strings"
)

// Reading is how an output was read, for a person who wants to know why a verdict is what it is.
type Reading struct {
	Survived   []ReadLine // errors after which the program went on
	LastWords  []ReadLine // what was said about the end
	Noise      []ReadLine // what a dying interpreter, a launcher or a progress bar printed
	Rules      []ReadLine // every line that a rule fits, wherever it stands
	PassedOver []string   // rules that fit a line and did not decide, in the order of the rules
}

// ReadLine is one line of an output, without what launchers and loggers put before it.
type ReadLine struct {
	Number int // within the output, from 1
	Text   string
	Rule   string // that fits it, if one does
	Role   Role
}

// maxRead bounds each list of a Reading; the last lines are kept.
const maxRead = 1000

// Read reads the output of an outcome as [Judge] does. f is what Judge found.
func Read(o Outcome, f Finding, rules *Rules) Reading {
	var reading Reading
	r := newReader(o, rules)
	passed := map[string]bool{}
	for i := range r.lines {
		l := &r.lines[i]
		if l.blank() {
			continue
		}
		read := ReadLine{Number: l.number + 1, Text: strings.TrimRight(string(l.text), " \t")}
		if l.rule != nil {
			read.Rule, read.Role = l.rule.Name, l.rule.Role
			reading.Rules = append(reading.Rules, read)
			if l.rule.Name != f.Rule {
				passed[l.rule.Name] = true
			}
		}
		switch l.kind {
		case kindSurvived:
			reading.Survived = append(reading.Survived, read)
		case kindLast:
			reading.LastWords = append(reading.LastWords, read)
		case kindNoise:
			reading.Noise = append(reading.Noise, read)
		}
	}
	for _, rule := range rules.list {
		if passed[rule.Name] {
			reading.PassedOver = append(reading.PassedOver, rule.Name)
		}
	}
	for _, list := range []*[]ReadLine{&reading.Survived, &reading.LastWords, &reading.Noise, &reading.Rules} {
		if over := len(*list) - maxRead; over > 0 {
			*list = slices.Delete(*list, 0, over)
		}
	}
	return reading
}
