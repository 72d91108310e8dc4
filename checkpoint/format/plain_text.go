package format

import (
	"errors"
	"io/fs"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// maxTexts bounds the files of text whose times are compared. Where there are more they are data.
const maxTexts = 64

// attachTexts gives the saves that are written over in place the files of text that may be of the same moment.
func attachTexts(root *dir, texts []string, place map[string][]*save) {
	if len(texts) > maxTexts {
		return
	}
	for _, name := range texts {
		slot := titleOf(sideStem(name)).slot
		for of, saves := range place {
			for _, s := range saves {
				if slot == "" || slot == of {
					s.texts = append(s.texts, root.join(name))
				}
			}
		}
	}
}

// told gives a training state that says no step that of the text which was written in the same moment beside it: stats.json,
// trainer_state.json, a config.json with the step in it. Only a plain word for a step or an epoch counts, under which nobody
// says how much there will be; where two texts differ, neither does.
func (c *Checkpoint) told(l *look) error {
	if c.Step >= 0 || !c.Optimizer || !c.Resumable {
		return nil
	}
	from := content{step: -1}
	for _, name := range c.save.texts {
		info, err := l.stat(name)
		if err != nil || !c.sameTime(info.ModTime()) || info.Size() > maxSide {
			if err := passable(err); err != nil {
				return err
			}
			continue
		}
		in, err := l.sideContent(name)
		if err := passable(err); err != nil {
			return err
		}
		switch {
		case err != nil || in.step < 0 || !in.sure:
		case from.step < 0:
			from = in
		case from.unit == in.unit && from.step != in.step:
			return nil
		case from.unit == UnitEpoch && in.unit == UnitStep:
			from = in
		}
	}
	if from.step >= 0 {
		c.Step, c.Unit, c.StepFrom = from.step, from.unit, StepFromContent
	}
	return nil
}

// passable is nil for what is wrong with a file that need not be there: it is gone, or was cut.
func passable(err error) error {
	if p, ok := errors.AsType[*problem.Error](err); err == nil || ok && !p.Reason.Unknown() || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
