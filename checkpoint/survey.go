package checkpoint

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Survey looks at a directory, and where what lies in it says nothing of where the training is, at those below it, level
// by level, until a state is found that can be resumed from. verify looks at what was found on a level. It returns which
// of the levels counts, and the checkpoints there; to those of a level that does say something are added the states
// further down, as such that cannot be resumed from: whether they belong together cannot be told. The error says that it is
// unknown what there is, or that there is no such directory.
func Survey(ctx context.Context, fsys fs.FS, o format.Options, verify func(format.Found) []format.Checkpoint) (level int, cs []format.Checkpoint, err error) {
	level, cs, err = survey(ctx, fsys, o, verify)
	format.Incomplete(cs)
	return level, cs, err
}

func survey(ctx context.Context, fsys fs.FS, o format.Options, verify func(format.Found) []format.Checkpoint) (level int, cs []format.Checkpoint, err error) {
	d, err := format.Descend(ctx, fsys, o)
	if err != nil {
		return 0, nil, err
	}
	above := surveyed{silent: true}
	calls := 0
	look := func(found format.Found) []format.Checkpoint { calls++; return verify(found) }
	for n := 0; ; n++ {
		found, ok, err := d.Next(above.holds)
		if err != nil {
			return 0, nil, err
		}
		if !ok {
			return above.level, above.all, nil
		}
		looked := look(found)
		states := slices.DeleteFunc(slices.Clone(looked), func(c format.Checkpoint) bool { return !above.stateBelow(c) })
		switch {
		case len(states) == 0 || o.Format == "" && !slices.ContainsFunc(states, func(c format.Checkpoint) bool { return !poor(c) || !above.silent && teller(c) }):
			above.add(n, looked)
		case above.further(states):
			return above.level, append(above.all, above.refused(states)...), nil
		case above.silent && above.before(states) && (len(above.known) == 0 || !onlyParts(states)):
			if chief := format.ChiefPart(found.Below); o.Format == "" && found.Apart && chief != "" {
				if parts, ok := partsTogether(looked, chief); ok {
					found.Apart = false
					look(found)
					return calls - 1, parts, nil
				}
			}
			if o.Format == "" && format.OfRanks(found.Below) {
				return n, ranksTogether(looked, len(found.Below)), nil
			}
			below, err := deeper(d, found, looked, look)
			if err != nil || below != nil {
				return calls - 1, below, err
			}
			if n == 0 || o.Format != "" || found.Apart {
				return n, looked, nil
			}
			both, err := above.elsewhere(d, found, looked, look)
			if both == nil || err != nil {
				return n, looked, err
			}
			looked = look(*both)
			return calls - 1, looked, nil
		case above.milestones(found, states):
			return n, append(looked, above.all...), nil
		default:
			return above.level, append(above.all, above.refused(states)...), nil
		}
		if o.Format != "" && len(looked) > 0 {
			return above.level, above.all, nil
		}
	}
}

// surveyed is what was seen on the levels above.
type surveyed struct {
	level  int // the first with anything, or with what could be resumed from
	all    []format.Checkpoint
	known  []format.Checkpoint // of all levels
	silent bool                // nothing there says where the training is
	poor   bool                // one of them could be resumed from where there is nothing better
	times  []time.Time         // of weights with a step in their names
}

func (s *surveyed) add(level int, looked []format.Checkpoint) {
	first := !s.poor && s.silent && slices.ContainsFunc(looked, func(c format.Checkpoint) bool { return poor(c) && s.stateBelow(c) })
	if s.all == nil && len(looked) > 0 || first {
		s.level, s.all = level, looked
	}
	s.poor = s.poor || first
	s.known = append(s.known, looked...)
	for _, c := range looked {
		weights := c.Complete && !c.Resumable && !c.Training
		s.silent = s.silent && (weights || c.Complete && (c.Hollow || c.BegunFrom()) || poor(c))
		if weights && !c.Data && c.Step >= 0 && !c.Directory() {
			s.times = append(s.times, c.Modified)
		}
	}
}

// holds reports whether a directory is a part of what was found above: of a state, or of what is nobody's model.
func (s *surveyed) holds(dir string) bool {
	return slices.ContainsFunc(s.known, func(c format.Checkpoint) bool {
		model := c.Complete && !c.Resumable && !c.Training || c.BegunFrom() || c.Hollow
		return (!model || c.Format == savedModel) && !poor(c) && (dir == c.Path || strings.HasPrefix(dir, c.Path+"/"))
	})
}

// stateBelow reports whether a checkpoint ends the search: it can be resumed from, or may be such a one and cannot be read.
// What has no more than its name counts only where there is nothing above.
func (s *surveyed) stateBelow(c format.Checkpoint) bool {
	if c.Reason.Unknown() {
		return true
	}
	if s.poor && !c.Optimizer && c.Format == "plain" {
		return false
	}
	return c.Complete && c.Resumable && !c.Hollow && !c.BegunFrom() && (c.Training || s.onlyExports())
}

// savedModel is the format of an export in a directory of its own, in which nothing else lies.
const savedModel = "saved_model"

// onlyExports reports whether nothing was found above but exports, beside which a program keeps its states elsewhere.
func (s *surveyed) onlyExports() bool {
	return !slices.ContainsFunc(s.known, func(c format.Checkpoint) bool { return c.Format != savedModel || c.Resumable })
}

// poor reports whether a directory may be no more than a model that says how far its training was, or a file no more than what
// says it: what lies beside it in others, with an optimizer, goes before it. Where its name says a step, what lies further down in it is its own.
func poor(c format.Checkpoint) bool {
	return (c.Directory() || c.Beside || teller(c)) && !c.NamesStep() && (lacksOptimizer(c) || c.Unsure && c.Complete && !c.Optimizer)
}

// teller reports whether a file says how far training was, and holds nothing else.
func teller(c format.Checkpoint) bool { return c.Bare && !c.Unsure && !c.Directory() }

// before reports whether the weights of steps that lie above were not written later than these states, but for the last of
// them: else they are of another training run.
func (s *surveyed) before(states []format.Checkpoint) bool {
	if len(s.times) == 0 {
		return true
	}
	slices.SortFunc(s.times, func(a, b time.Time) int { return b.Compare(a) })
	last := s.times[min(1, len(s.times)-1)]
	return slices.ContainsFunc(states, func(c format.Checkpoint) bool { return !c.Modified.Before(last) || c.Reason.Unknown() })
}

// onlyParts reports whether each of these states may be a part of what lies beside it, as an optimizer's alone is of weights.
func onlyParts(states []format.Checkpoint) bool {
	return !slices.ContainsFunc(states, func(c format.Checkpoint) bool { return !c.Bare })
}

// refused are the first of the states further down.
func (s *surveyed) refused(states []format.Checkpoint) (cs []format.Checkpoint) {
	for _, c := range states {
		if !c.Reason.Unknown() {
			c.Resumable, c.Reason = false, problem.UnknownFormat
			c.Detail = "it is a training state, below the directory, in which there is none"
		}
		if cs = append(cs, c); len(cs) == depth {
			break
		}
	}
	return cs
}
