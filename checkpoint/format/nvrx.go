package format

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// nvrxLocal is the node-local checkpoints of nvidia-resiliency-ext: root/session/rank/iter_0000100_3_local.pt. A rank's
// directory may hold the files of others as well, as replicas. The names are those of
// nvidia_resiliency_ext/checkpointing/local/ckpt_managers/local_manager.py.
//
// A node has the directories of its own ranks alone. So a checkpoint is whole here when all of those have the
// iteration; whether it is on the other nodes too is for those to say. It has no path of its own: Path is that of the
// session and the iteration's name, and Root is the session's.
var nvrxLocal = kind{name: "nvrx_local", find: findNVRx, check: checkNVRx}

const nvrxDirty = ".dirty" // in the name until all is written

// nvrxFile reads iter_0000100_3_local.pt, and with .dirty before the end.
func nvrxFile(name string) (iteration, rank int64, dirty, ok bool) {
	stem, found := strings.CutSuffix(name, ".pt")
	stem, dirty = strings.CutSuffix(stem, nvrxDirty)
	stem, local := strings.CutSuffix(stem, "_local")
	stem, iter := strings.CutPrefix(stem, "iter_")
	first, second, both := strings.Cut(stem, "_")
	iteration, isIteration := digits(first)
	rank, isRank := digits(second)
	return iteration, rank, dirty, found && local && iter && both && isIteration && isRank
}

// maxNVRxOthers is how many directories that are no sessions are looked into before the first that is one.
const maxNVRxOthers = 16

func findNVRx(l *look, root *dir) (found []*Checkpoint, err error) {
	// With an empty session id, the ranks are in the root.
	found, unreadable := l.findNVRxSession(root)
	for i, name := range root.dirs(isNVRxSession) {
		if i == maxNVRxOthers && len(found) == 0 {
			break // many directories of something else, each of which may be long
		}
		session, err := l.dir(root.join(name))
		if err == nil {
			var of []*Checkpoint
			of, err = l.findNVRxSession(session)
			found = append(found, of...)
		}
		if err != nil && !isGone(err) {
			unreadable = err
		}
	}
	if len(found) == 0 {
		return nil, nil // whoever looks next meets what cannot be read
	}
	return found, unreadable
}

func isNVRxSession(name string) bool {
	_, isRank := digits(name)
	return !isRank && name != quarantined
}

func (l *look) findNVRxSession(session *dir) (found []*Checkpoint, unreadable error) {
	iterations := map[int64]bool{}
	ranks := session.dirs(func(name string) bool { _, ok := digits(name); return ok })
	for i, name := range ranks {
		rank, err := l.dir(session.join(name))
		if isGone(err) {
			continue
		}
		if err != nil {
			unreadable = err
			continue
		}
		for _, name := range rank.names {
			if iteration, _, _, ok := nvrxFile(name); ok {
				iterations[iteration] = true
			}
		}
		if i >= 3 && len(iterations) == 0 {
			break // numbered directories of something else
		}
	}
	for iteration := range iterations {
		tag := fmt.Sprintf("iter_%07d", iteration)
		found = append(found, &Checkpoint{
			Path: session.join(tag), Root: session.path, Tag: tag, Step: iteration, StepFrom: StepFromName,
		})
	}
	slices.SortFunc(found, func(a, b *Checkpoint) int { return cmp.Compare(a.Step, b.Step) })
	return found, unreadable
}

func checkNVRx(l *look, c *Checkpoint) error {
	session, err := l.dir(c.Root)
	if err != nil {
		return err
	}
	if c.Basis = BasisGrid; c.Root != "." {
		c.RunID = path.Base(c.Root)
	}
	var paths []string
	missing, writing := "", ""
	have, want := map[int64]bool{}, map[int64]string{}
	for _, name := range session.dirs(func(name string) bool { _, ok := digits(name); return ok }) {
		d, err := l.dir(session.join(name))
		if err != nil {
			return err
		}
		own, _ := digits(name)
		want[own] = d.join(fmt.Sprintf("%s_%d_local.pt", c.Tag, own))
		for _, name := range d.names {
			iteration, rank, dirty, ok := nvrxFile(name)
			switch {
			case !ok || iteration != c.Step || !d.isFile(name):
			case dirty:
				writing = cmp.Or(writing, d.join(name))
			default:
				have[rank] = true
				paths = append(paths, d.join(name))
			}
		}
	}
	for rank, name := range want {
		if !have[rank] && (missing == "" || name < missing) {
			missing = name
		}
	}
	c.ShardsExpected, c.ShardsFound = len(want), len(want)
	for rank := range want {
		if !have[rank] {
			c.ShardsFound--
		}
	}
	switch {
	case missing != "" && writing != "":
		return problem.New(problem.InProgress, "%s is being written, or was left behind: saves of this iteration fail then",
			writing)
	case missing != "":
		return problem.New(problem.MissingShard, "%s is missing: %d of the %d ranks on this node have the iteration", missing,
			c.ShardsFound, c.ShardsExpected)
	}
	_, err = checkTorchAll(l, c, paths)
	return err
}
