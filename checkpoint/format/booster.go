package format

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// booster is the models of gradient boosting that a loop saves each so many rounds: those of XGBoost (save_model, TrainingCheckPoint),
// of LightGBM (save_model, snapshot_freq) and of CatBoost. Training resumes from one, and there is nothing else to a state. One without a
// number in its name, and without a word for a checkpoint or for the newest, is what such a program leaves at its end, and is none of
// these.
var booster = kind{name: "booster", find: findBooster, check: checkBooster, movable: true}

// boosterEndings are those of such files. Others have them, too.
var boosterEndings = []string{".json", ".ubj", ".txt", ".cbm"}

// maxBoosterLooks bounds the files that are opened to find out whether they are any.
const maxBoosterLooks = 64

func findBooster(l *look, root *dir) (found []*Checkpoint, err error) {
	names := root.files(func(name string) bool {
		_, ending := boosterStem(name)
		t := boosterTitle(name)
		return ending != "" && !strings.HasPrefix(name, ".") && !isTemporary(name) && (t.step >= 0 || checkpointName(name) || newestSlots[t.slot])
	})
	is := map[string]bool{}
	looked := newestByTitle(names, 2) // one of them may be torn
	slices.SortStableFunc(looked, func(a, b string) int { return cmp.Compare(likelihood(b), likelihood(a)) })
	for _, name := range looked[:min(len(looked), maxBoosterLooks)] {
		if series := boosterSeries(name); !is[series] {
			if is[series], err = l.isBooster(root.join(name)); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range names {
		if !is[boosterSeries(name)] {
			continue
		}
		t := boosterTitle(name)
		m := member{path: root.join(name), title: t}
		s := &save{title: t, members: []member{m}}
		c := &Checkpoint{Path: m.path, Tag: name, Step: t.step, Unit: t.unit, save: s}
		if t.step >= 0 {
			c.StepFrom = StepFromName
		}
		found = append(found, c)
	}
	return found, nil
}

// boosterTitle reads a name without its ending. What others count in steps, boosting counts in rounds.
func boosterTitle(name string) title {
	stem, _ := boosterStem(name)
	return titleOf(roundsToSteps.Replace(stem))
}

// boosterStem is a name without the ending of a booster, behind which there may be more: model.txt.snapshot_iter_30.
func boosterStem(name string) (stem, ending string) {
	for _, ending := range boosterEndings {
		if before, behind, found := strings.Cut(strings.ToLower(name), ending); found && (behind == "" || strings.HasPrefix(behind, ".snapshot_iter_")) {
			return name[:len(before)] + name[len(before)+len(ending):], ending
		}
	}
	return name, ""
}

var roundsToSteps = strings.NewReplacer("round", "step", "Round", "Step")

func boosterSeries(name string) string {
	t := boosterTitle(name)
	_, ending := boosterStem(name)
	return t.family + "|" + t.roles + "|" + t.slot + "|" + ending
}

// isBooster reports whether a file begins as one.
func (l *look) isBooster(name string) (is bool, err error) {
	f, err := l.open(name)
	if err != nil {
		return false, l.ctx.Err() // another of its series may tell
	}
	defer f.close()
	head := make([]byte, min(f.size, 64))
	n, _ := f.ReadAt(head, 0)
	return file.Booster(head[:n]) != file.NoBooster, nil
}

func checkBooster(l *look, c *Checkpoint) error {
	if _, err := l.parts(c, []string{c.Path}, false); err != nil {
		return err
	}
	c.Basis, c.Elastic, c.Training, c.Optimizer = BasisStructure, true, true, true
	if l.Level < Ends {
		return nil
	}
	return l.inside(c.Path, func(r io.ReaderAt, size int64) error {
		if l.Level < Manifests {
			_, err := file.BoosterEnds(r, size)
			return err
		}
		return file.BoosterWhole(r, size)
	})
}
