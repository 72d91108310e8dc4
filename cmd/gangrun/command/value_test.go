package command

import (
	"slices"
	"strings"
	"testing"
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
	f.Fuzz(func(t *testing.T, which uint16, text string) {
		settings := all()
		s := settings[int(which)%len(settings)]
		if err := s.parse(text); err != nil && strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("--%s: %q", s.name, err)
		}
	})
}
