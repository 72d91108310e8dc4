package command

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

// FuzzValue gives any text to any flag: what is wrong with it is said in one line.
func FuzzValue(f *testing.F) {
	all := func() []*setting {
		o, l := defaultOptions(), &localOptions{options: defaultOptions()}
		return slices.Concat(o.runSettings(), o.launchSettings(), l.settings())
	}
	for i := range all() {
		f.Add(uint16(i), "1m:2m")
	}
	for i, text := range []string{"2:4", "2,4,8", "15:10", "USR1@2m", "29500-29600", "1:30s", `^step (\d+)$`, "evaluator,restart=self", "10/1h"} {
		f.Add(uint16(i), text)
	}
	for i, s := range all() {
		if strings.HasSuffix(s.name, "regex") {
			f.Add(uint16(i), "(\x1b\n")
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, text string) {
		settings := all()
		s := settings[int(which)%len(settings)]
		s.given = []string{text}
		flag := s.resolve(func(string) (string, bool) { return "", false }, nil)
		s.given = nil
		variable := s.resolve(func(string) (string, bool) { return text, true }, nil)
		for _, err := range []error{flag, variable} {
			if err != nil && strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("--%s: %q", s.name, err)
			}
		}
	})
}
