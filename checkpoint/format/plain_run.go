package format

import (
	"slices"
	"strings"
)

// ofRun reports whether a name is a number and nothing else, which may as well be that of a training run: of its job, or drawn.
func (t title) ofRun(name string) bool {
	_, ok := digits(name)
	return ok && t.step >= 0
}

// hasEvents reports whether a training run writes its curves into a directory, as it does into that of its own.
func hasEvents(d *dir) bool {
	return slices.ContainsFunc(d.names, func(name string) bool { return strings.Contains(name, ".tfevents.") && d.isFile(name) })
}
