package checkpoint

import (
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/format"
)

// maxFurther is how many levels below that on which a state was found are searched for one of another training run.
const maxFurther = 2

// elsewhere looks further down in the directories beside those in which states were found: a directory that is too high may hold two
// training runs, of which one keeps its states deeper than the other. It returns what there is in both, nil where there is but one run.
func (s *surveyed) elsewhere(d *format.Descent, found format.Found, looked []format.Checkpoint, look func(format.Found) []format.Checkpoint) (*format.Found, error) {
	known := surveyed{known: append(slices.Clone(s.known), looked...), poor: s.poor}
	in := func(dir string) bool {
		return format.OfPastBelow(dir) || known.holds(dir) || slices.ContainsFunc(found.Below, func(b string) bool { return strings.HasPrefix(dir, b+"/") })
	}
	for range maxFurther {
		other, ok, err := d.Next(in)
		if err != nil || !ok {
			return nil, err
		}
		if len(other.Checkpoints) == 0 {
			continue
		}
		cs := look(other)
		if slices.ContainsFunc(cs, func(c format.Checkpoint) bool {
			return c.Complete && c.Resumable && c.Training && (c.Optimizer || c.Format != "plain") && !c.Bare && !c.NoModel
		}) {
			found.Checkpoints = append(slices.Clone(found.Checkpoints), other.Checkpoints...)
			found.Below = append(slices.Clone(found.Below), other.Below...)
			found.Others = slices.DeleteFunc(slices.Clone(found.Others), func(name string) bool {
				return slices.ContainsFunc(other.Below, func(b string) bool { return strings.HasPrefix(b+"/", name+"/") })
			})
			found.Apart = true
			return &found, nil
		}
		known.known = append(known.known, cs...)
	}
	return nil, nil
}
