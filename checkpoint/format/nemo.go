package format

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// nemo is a directory of what NeMo's checkpoint callbacks saved (nemo/utils/callbacks/nemo_model_checkpoint.py,
// nemo/lightning/pytorch/callbacks/model_checkpoint.py): files NAME.ckpt as of Lightning, the same once per model
// parallel rank in mp_rank_00 and so on, or directories NAME with what Megatron's distributed checkpoints hold.
//
// An empty file NAME-unfinished stands beside a checkpoint while it is written, and while it is deleted. One that is
// left behind says that what it is named after is not whole: NeMo deletes that when it starts.
var nemo = kind{name: "nemo", find: findNeMo, check: checkNeMo, owns: func(name string) bool { return strings.HasSuffix(name, nemoUnfinished) }}

const nemoUnfinished = "-unfinished"

func findNeMo(l *look, root *dir) (found []*Checkpoint, err error) {
	stems := map[string]*Checkpoint{} // by what a marker is named after
	add := func(name string) {
		stem := nemoStem(name)
		if c := stems[stem]; c != nil {
			if strings.HasSuffix(c.Path, "-EMA.ckpt") {
				c.Path, c.Tag = root.join(name), name
			}
			return
		}
		c := &Checkpoint{Path: root.join(name), Tag: name, Step: -1}
		nameStep(c, stem)
		stems[stem] = c
		found = append(found, c)
	}
	is := l.Format == "nemo" || len(root.files(func(name string) bool {
		return strings.HasSuffix(name, ".nemo") || strings.HasSuffix(name, nemoUnfinished)
	})) > 0
	var directories []string
	for _, name := range root.names {
		switch {
		case strings.HasSuffix(name, ".ckpt"):
			if !strings.Contains(name, "last") || !l.isLinkBeside(root, name) {
				add(name)
			}
		case root.isDir(name) && (strings.Contains(name, "step=") || strings.HasSuffix(name, "-last")):
			directories = append(directories, name)
		}
	}
	ranks := nemoRanks(root)
	for _, rank := range ranks {
		d, err := l.dir(root.join(rank))
		if vanished(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, name := range d.files(func(name string) bool { return strings.HasSuffix(name, ".ckpt") }) {
			is = true
			add(name)
		}
	}
	for i := len(directories) - 1; i >= 0 && i >= len(directories)-4 && !is; i-- {
		d, err := l.dir(root.join(directories[i]))
		if err != nil && !vanished(err) {
			return nil, err
		}
		is = err == nil && (d.isDir("weights") || d.isFile(megatronConfig) || d.isFile("common.pt"))
	}
	if !is {
		return nil, nil
	}
	for _, name := range directories {
		add(name)
	}
	for _, name := range root.files(func(name string) bool { return strings.HasSuffix(name, nemoUnfinished) }) {
		if stem := strings.TrimSuffix(name, nemoUnfinished); stem != "" {
			add(stem)
		}
	}
	return found, nil
}

// nemoStem is the name that a marker has but for its own suffix.
func nemoStem(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".nemo"), ".ckpt"), "-EMA")
}

// nemoRanks lists the directories of the model parallel ranks.
func nemoRanks(d *dir) []string {
	return d.dirs(func(name string) bool {
		_, _, ok := nemoRank(name)
		return ok
	})
}

// nemoRank reads mp_rank_03 and tp_rank_01_pp_rank_002.
func nemoRank(name string) (tensor, pipeline int64, ok bool) {
	if tensor, ok = numbered(name, "mp_rank_", ""); ok {
		return tensor, 0, tensor < maxRanks
	}
	t, p, found := strings.Cut(name, "_pp_rank_")
	tensor, ok = numbered(t, "tp_rank_", "")
	pipeline, also := digits(p)
	return tensor, pipeline, found && ok && also && tensor < maxRanks && pipeline < maxRanks
}

func checkNeMo(l *look, c *Checkpoint) error {
	root, err := l.dir(c.Root)
	if err != nil {
		return err
	}
	stem := nemoStem(c.Tag)
	if root.has(stem + nemoUnfinished) {
		return problem.New(problem.UnfinishedMarker, "%s is there: a save or a removal has not come to its end",
			root.join(stem+nemoUnfinished))
	}
	if root.kinds[c.Tag]&fs.ModeSymlink != 0 {
		if _, err := l.stat(c.Path); err != nil {
			return problem.Of(err, problem.PointerDangling)
		}
	}
	switch {
	case root.isDir(stem):
		err = checkNeMoDir(l, c, root.join(stem))
	case root.isDir(c.Tag): // as Lightning's own strategies save
		err = checkLightning(l, c)
	case root.has(c.Tag):
		err = checkNeMoFiles(l, c, root, stem)
	default:
		err = checkNeMoRanks(l, c, root, stem)
	}
	if err == nil && c.Detail == "" {
		c.Detail = severalLast(root, c.Tag)
	}
	return err
}

// severalLast says why NeMo does not start: it wants no more than one name that ends with last.
func severalLast(root *dir, tag string) string {
	isLast := func(name string) bool {
		return strings.HasSuffix(nemoStem(name), "last") && !strings.HasSuffix(name, "-EMA.ckpt")
	}
	var last []string
	for _, name := range root.names {
		if (strings.HasSuffix(name, ".ckpt") || root.isDir(name)) && isLast(name) &&
			!root.has(nemoStem(name)+nemoUnfinished) {
			last = append(last, name)
		}
	}
	if len(last) < 2 || !isLast(tag) {
		return ""
	}
	return fmt.Sprintf("NeMo refuses to resume while several names end with last: %s and %s", last[0], last[1])
}

// checkNeMoFiles looks at a checkpoint that is one file, or two with the averaged weights.
func checkNeMoFiles(l *look, c *Checkpoint, root *dir, stem string) error {
	if name := stem + "-EMA.ckpt"; root.has(name) && name != c.Tag {
		if _, err := checkTorchAll(l, c, []string{root.join(name)}); err != nil {
			return err
		}
	}
	return checkLightningFile(l, c, c.Path)
}

// checkNeMoRanks looks at a checkpoint of which every model parallel rank has a file.
func checkNeMoRanks(l *look, c *Checkpoint, root *dir, stem string) error {
	have := map[[2]int64]string{}
	var tensors, pipelines int64
	for _, name := range nemoRanks(root) {
		t, p, _ := nemoRank(name)
		have[[2]int64{t, p}] = name
		tensors, pipelines = max(tensors, t+1), max(pipelines, p+1)
	}
	if tensors == 0 {
		return problem.New(problem.MissingShard, "%s is missing", c.Path)
	}
	if tensors*pipelines != int64(len(have)) {
		return problem.New(problem.MissingShard, "%s holds directories of %d ranks, %d times %d expected", root.path,
			len(have), tensors, pipelines)
	}
	var paths []string
	for _, name := range nemoRanks(root) {
		d, err := l.dir(root.join(name))
		if err != nil {
			return err
		}
		c.ShardsExpected = len(have)
		if !d.has(stem + ".ckpt") {
			return problem.New(problem.MissingShard, "%s is missing", d.join(stem+".ckpt"))
		}
		paths = append(paths, d.join(stem+".ckpt"))
		c.ShardsFound++
		if d.has(stem + "-EMA.ckpt") {
			paths = append(paths, d.join(stem+"-EMA.ckpt"))
		}
	}
	if _, err := checkTorchAll(l, c, paths); err != nil {
		return err
	}
	c.Basis = BasisGrid
	if err := pickledStep(l, c, paths[0]); err != nil {
		return err
	}
	return withoutOptimizerStates(l, c, paths[0])
}

// checkNeMoDir looks at a directory of Megatron's distributed checkpoints, which newer releases put into one of its own
// beside the configuration.
func checkNeMoDir(l *look, c *Checkpoint, name string) error {
	d, err := l.dir(name)
	if err != nil {
		return err
	}
	if d.isDir("weights") {
		if d, err = l.dir(d.join("weights")); err != nil {
			return err
		}
	}
	if !d.has(megatronConfig) {
		return problem.New(problem.NoMarker, "%s is missing, which is written last", d.join(megatronConfig))
	}
	inner, err := c.payload(func(inner *Checkpoint) error { return checkMegatronDist(l, inner, d) })
	if err != nil {
		return err
	}
	_, payload, _ := strings.Cut(inner.Format, "+")
	c.contains(payload)
	c.Basis, c.Elastic, c.Modified, c.ModifiedFrom = inner.Basis, inner.Elastic, inner.Modified, inner.ModifiedFrom
	return nil
}
