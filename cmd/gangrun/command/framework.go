package command

import (
	"maps"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/supervisor/gang"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// noFramework is the name for a command that uses no known framework.
const noFramework = "custom"

// frameworkSettings are --framework, from which follows how the command is told to resume, and by which lines of its
// output it shows its steps. local has another flag of that name, since it starts the ranks itself.
func (o *options) frameworkSettings() []*setting {
	known := slices.AppendSeq(progress.Profiles(), maps.Keys(gang.Presets))
	known = append(known, noFramework)
	slices.Sort(known)
	known = slices.Compact(known)
	return []*setting{{
		name: "framework", group: groupJob, hint: strings.Join(known, "|"), standard: noFramework, parse: choice(&o.framework, known...),
		usage: "framework of the command: sets how it learns what to resume from (--resume-args), and which lines of output show its steps",
	}}
}
