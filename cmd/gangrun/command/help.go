package command

import (
	"fmt"
	"strings"
)

// The headings of the help, in the order in which they come.
const (
	groupRanks      = "Ranks"
	groupRehearse   = "Rehearsing failures"
	groupTorchrun   = "As torchrun's"
	groupJob        = "Job and node"
	groupNodes      = "Several nodes"
	groupRestarts   = "Restarts"
	groupStopping   = "Stopping"
	groupVerdict    = "Verdict and message"
	groupHang       = "Workers that get nowhere"
	groupOutput     = "Output of the workers"
	groupCheckpoint = "Checkpoints"
	groupOwn        = "gangrun itself"
)

var groups = []string{groupTorchrun, groupRanks, groupRehearse, groupJob, groupNodes, groupRestarts, groupStopping, groupVerdict, groupHang, groupOutput, groupCheckpoint, groupOwn}

const configurable = `Every flag can also be set by the variable GANGRUN_<FLAG> (--max-restarts: GANGRUN_MAX_RESTARTS) and in the file
named by --config. A flag outranks the variable, the variable the file.`

// help is the help of one command: what it is called with, an example, and its settings by group.
func help(name, arguments, example, description string, settings []*setting) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: gangrun %s %s\n\nExample: gangrun %s\n\n%s\n", name, arguments, example, description)
	for _, group := range groups {
		heading := "\n" + group + ":\n"
		for _, s := range settings {
			if s.group != group {
				continue
			}
			left, right := s.help()
			fmt.Fprintf(&b, "%s  %s\n        %s\n", heading, left, right)
			heading = ""
		}
	}
	return b.String()
}
