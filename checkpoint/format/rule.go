package format

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Rule is what a user says about checkpoints of no known format.
type Rule struct {
	// Glob matches the names of checkpoints in the root, files or directories, as [path.Match] does. With one slash it
	// matches what is in the directories of the root.
	Glob string
	// Step finds the step in what Glob has matched, as its first group. When it is nil, or finds none, the step is not
	// known.
	Step *regexp.Regexp
	// Marker is the file that is written last, empty when there is none: its name within a checkpoint that is a
	// directory, and what is put behind the name of one that is a file (".done" for "model.pt.done"). It may be empty
	// itself.
	Marker string
}

// Valid says what is wrong with a rule.
func (r *Rule) Valid() error {
	if r.Glob == "" {
		return errors.New("no glob")
	}
	if strings.Count(r.Glob, "/") > 1 {
		return fmt.Errorf("the glob %q has more than one slash", r.Glob)
	}
	for element := range strings.SplitSeq(r.Glob, "/") {
		if _, err := path.Match(element, ""); err != nil || element == "" || element == "." || element == ".." {
			return fmt.Errorf("the glob %q is malformed", r.Glob)
		}
	}
	if r.Step != nil && r.Step.NumSubexp() == 0 {
		return fmt.Errorf("the expression %q for the step has no group", r.Step)
	}
	if r.Marker != "" && !under(r.Marker) {
		return fmt.Errorf("the marker %q is not a name within a checkpoint", r.Marker)
	}
	return nil
}
