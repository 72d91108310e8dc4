package format

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// plain is what programs write that save for themselves: files of torch, of numpy, of Keras, safetensors and pickles,
// each by itself, several of one step, or in a directory of each step.
//
// Names are the program's own. So a file is known by what is in it, and its step is read there before it is read in its
// name. Files of one step are one checkpoint, which is whole when each is, and when it has what the saves before it
// have. One without a step in its name is written over by the next save.
var plain = kind{name: "plain", find: findPlain, check: checkPlain, movable: true}

// save is one save of a program's own, as its names show it.
type save struct {
	title
	members   []member // of a save that is several files, or one; none for a directory, which is read when it is verified
	directory bool
	unread    bool     // it cannot be looked into
	sides     []string // files of text that say how far it is
	before    *save    // of its family, the one before it
	shared    *save    // the state of an optimizer that is written over in place, beside weights of each step
	part      bool     // it is such a one
	family    string
	has       []string // the templates of its members, sorted
	required  []string // those that the saves before it have as well
	ranks     int64    // how many processes have a file in them; 0 when their names do not say
	world     int64    // the same of those before it
}

// member is one file of a save.
type member struct {
	path string // from the root of the tree
	title
}

// template is what the names of the same file in different saves have in common.
func (m member) template(dir string) string {
	rel := m.path
	if dir != "" {
		rel = strings.TrimPrefix(rel, dir+"/")
	}
	base := path.Base(rel)
	return path.Join(path.Dir(rel), m.roles+"|"+m.slot+"|"+m.family+"|"+strings.TrimPrefix(base, stemOf(base)))
}

// strongEndings are those that only what a training script writes has.
var strongEndings = []string{".pt", ".pth", ".ckpt", ".safetensors", ".keras", ".h5", ".th", ".chkpt", ".hdf5", ".checkpoint", ".t7"}

// weakEndings are those that data has as well: what is in such a file says what it is.
var weakEndings = []string{".bin", ".tar", ".pkl", ".pickle", ".npz", ".gz", ".msgpack", ".joblib", ".zip", ".weights", ".model", ".state", ".tgz",
	".params", ".pdparams", ".pdopt", ".torch", ".mpk", ""}

// ownEnding reports whether an ending may be one of somebody's own: step_100.eqx, checkpoint.npz-000001000. What a copy
// puts behind a known one while it writes is not: ckpt.pt.6bE5Ba1F.
func ownEnding(name, ext string) bool {
	known, number, numbered := strings.Cut(ext, "-")
	if _, ok := digits(number); numbered && ok && slices.Contains(endings, known) {
		return true
	}
	return len(ext) <= 10 && !strings.ContainsAny(ext, "0123456789-") && !slices.Contains(otherEndings, ext) &&
		!slices.Contains(endings, strings.ToLower(path.Ext(strings.TrimSuffix(name, path.Ext(name)))))
}

// otherEndings are those of what stands beside checkpoints with a step in its name.
var otherEndings = []string{".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".txt", ".log", ".csv", ".tsv", ".md", ".html", ".xml",
	".py", ".sh", ".cfg", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".webp", ".mp4", ".wav", ".flac", ".mp3", ".lock", ".done",
	".md5", ".sha256", ".index", ".parquet", ".onnx", ".engine", ".gguf", ".tflite", ".tfrecord", ".npy", ".part", ".partial", ".swp"}

// fileKind says how sure a name is that of a file with tensors. own says that its ending is one that nobody is known to use.
func fileKind(name string) (strong, weak, own bool) {
	if strings.HasPrefix(name, ".") || dullNames[name] || isTemporary(name) || strings.HasSuffix(name, "~") {
		return false, false, false
	}
	name, _ = withoutBackup(name)
	ext := strings.ToLower(path.Ext(name))
	if ext != "" && strings.Trim(ext[1:], "0123456789") == "" {
		if isLog(strings.ToLower(strings.TrimSuffix(name, ext))) {
			return false, false, false
		}
		ext = "" // model.100
	}
	if slices.Contains(strongEndings, ext) {
		return true, false, false
	}
	if strings.HasSuffix(stemExt(name), ".pth.tar") || strings.HasSuffix(stemExt(name), ".pt.gz") {
		return true, false, false
	}
	if ext == ".bin" && isHFWeights(name) {
		return true, false, false
	}
	t := titleOf(name)
	weak = slices.Contains(weakEndings, ext) || strings.Contains(name, "=") && t.step >= 0 // epoch=3-loss=0.25
	switch likely := t.named || checkpointName(name); {
	case weak:
	case slices.Contains(opaqueEndings, ext):
		own = likely || t.step >= 0 || t.slot != ""
	case ext == ".gguf": // of a fine-tuning run, and not one that is there to be used
		own = likely
	default:
		own = (likely || t.step >= 0 && (t.roles != "" || t.family == "")) && ownEnding(name, ext)
	}
	return false, weak, own
}

// isLog reports whether a name, without the number at its end, is that of what a program writes along the way: a log that
// was rotated, or TensorBoard's events, whose files end in numbers of the writer.
func isLog(name string) bool {
	return slices.Contains(otherEndings, path.Ext(name)) || strings.Contains(name, ".tfevents.")
}

func stemExt(name string) string { return strings.ToLower(name) }

// dullNames are files that stand beside checkpoints without being any, though their endings do not say so.
var dullNames = set("README LICENSE Makefile Dockerfile latest_checkpointed_iteration latest_train_state.pt hparams version DONE done _SUCCESS " + hfArgs)

func findPlain(l *look, root *dir) (found []*Checkpoint, err error) {
	found, rest := findIndexed(l, root)
	files, err := l.plainFiles(root, rest)
	if err != nil {
		return nil, err
	}
	dirs, err := l.plainDirs(root)
	if err != nil {
		return nil, err
	}
	all := append(files, dirs...)
	unlikelyYears(all)
	compare(all)
	for _, s := range all {
		found = append(found, s.checkpoint(root))
	}
	return found, nil
}

// findIndexed lists models in shards with an index, and returns the names of the other files.
func findIndexed(l *look, root *dir) (found []*Checkpoint, rest []string) {
	sets := map[string]bool{}
	keras := hasKerasShards(root)
	for _, name := range root.files(func(string) bool { return true }) {
		index, shard := shardIndex(name)
		kerasIndex, kerasShard := kerasShard(name)
		switch {
		case keras && kerasShard:
			name = kerasIndex
		case keras && isKerasIndex(name):
		case shard && (root.has(index) || strings.HasSuffix(name, ".safetensors")):
			name = index
		case strings.HasSuffix(name, ".safetensors"+indexSuffix), strings.HasSuffix(name, ".bin"+indexSuffix):
		default:
			rest = append(rest, name)
			continue
		}
		if sets[name] {
			continue
		}
		sets[name] = true
		c := &Checkpoint{Path: root.join(name), Tag: name, Step: -1}
		if t := titleOf(strings.TrimSuffix(strings.TrimSuffix(name, indexSuffix), kerasIndexSuffix)); t.step >= 0 {
			c.Step, c.Unit, c.StepFrom = t.step, t.unit, StepFromName
		}
		found = append(found, c)
	}
	return found, rest
}

// maxSniffs bounds how many files are opened to find out whether they hold tensors. A directory of data has thousands; the
// names that a checkpoint is most likely to have go before theirs.
const maxSniffs = 256

// likelihood is how much the name of a file looks like that of a checkpoint: a word for one, or a step, or a part of one.
func likelihood(name string) int {
	t := titleOf(name)
	switch {
	case checkpointName(name), t.named, t.slot != "":
		return 2
	case t.step >= 0, t.roles != "":
		return 1
	}
	return 0
}

// plainFiles puts the files of one step together.
func (l *look) plainFiles(root *dir, names []string) (saves []*save, err error) {
	type key struct {
		family, slot string
		unit         Unit
		step         int64
		when, alone  string
	}
	groups := map[key]*save{}
	var weak []string
	add := func(name string) {
		t := titleOf(name)
		k := key{t.family, t.slot, t.unit, t.step, "", ""}
		if t.step < 0 {
			k.when = t.when
		}
		same := func(m member) bool { return m.roles == t.roles }
		if t.step < 0 && (t.roles == "" && t.when == "" || groups[k] != nil && slices.ContainsFunc(groups[k].members, same)) {
			k.alone = name
		}
		s := groups[k]
		if s == nil {
			s = &save{title: t, family: t.family + "|" + t.slot + "|" + string(t.unit)}
			if t.step < 0 {
				s.family += "|" + name // nothing to be compared with
			}
			groups[k] = s
			saves = append(saves, s)
		}
		s.members = append(s.members, member{root.join(name), t})
	}
	for _, name := range names {
		if ofArguments(name) {
			continue
		}
		switch strong, maybe, own := fileKind(name); {
		case strong:
			add(name)
		case maybe, own:
			weak = append(weak, name)
		}
	}
	// The newest of each family are looked into, and the older ones taken to be like them.
	looked := newestByTitle(weak, 8)
	slices.SortStableFunc(looked, func(a, b string) int { return cmp.Compare(likelihood(b), likelihood(a)) })
	looked = looked[:min(len(looked), maxSniffs)]
	slices.Sort(looked)
	yes := make([]bool, len(looked))
	err = l.eachOf(len(looked), func(i int) (err error) {
		yes[i], err = l.holdsTensors(root.join(looked[i]))
		return err
	})
	if err != nil {
		return nil, err
	}
	like := map[string]bool{}
	for i, name := range looked {
		if yes[i] {
			like[seriesOf(name)] = true
		}
	}
	for _, name := range weak {
		if i, found := slices.BinarySearch(looked, name); found && yes[i] || !found && like[seriesOf(name)] {
			add(name)
		}
	}
	for _, s := range saves {
		s.templates("")
	}
	attachSides(root, names, saves)
	shareOptimizer(saves)
	return saves, nil
}

// shareOptimizer gives the saves of steps that have no optimizer in their names the one beside them that is written over in
// place: gen_100.pt, gen_200.pt and optimizer.pt.
func shareOptimizer(saves []*save) {
	optimizer := func(m member) bool { return strings.Contains(m.roles, "optimizer") }
	i := slices.IndexFunc(saves, func(s *save) bool {
		return s.step < 0 && s.slot == "" && s.when == "" && s.title.family == "" && slices.ContainsFunc(s.members, optimizer) &&
			!slices.ContainsFunc(s.members, func(m member) bool { return strings.Contains(m.roles, "model") })
	})
	if i < 0 {
		return
	}
	for _, s := range saves {
		if s.step >= 0 && !slices.ContainsFunc(s.members, optimizer) {
			s.shared, saves[i].part = saves[i], true
		}
	}
}

// ofArguments reports whether a file is by its name what a program was started with: args.pt, config.pkl.
func ofArguments(name string) bool {
	t := titleOf(name)
	return t.roles == "args" && t.family == "" && t.step < 0 && t.slot == ""
}

// seriesOf is what the names of the same file in different saves have in common.
func seriesOf(name string) string {
	t := titleOf(name)
	return t.family + "|" + t.slot + "|" + t.roles + "|" + string(t.unit) + strings.TrimPrefix(name, stemOf(name))
}

// newestByTitle lists so many of the names of each series, those with the highest steps, sorted. Of names without a step
// the last count: dates sort as they should.
func newestByTitle(names []string, most int) (newest []string) {
	series := map[string][]string{}
	for _, name := range names {
		series[seriesOf(name)] = append(series[seriesOf(name)], name)
	}
	for _, s := range series {
		slices.SortFunc(s, func(a, b string) int {
			return cmp.Or(cmp.Compare(titleOf(b).step, titleOf(a).step), strings.Compare(b, a))
		})
		newest = append(newest, s[:min(len(s), most)]...)
	}
	slices.Sort(newest)
	return newest
}

// templates notes what a save consists of.
func (s *save) templates(dir string) {
	ranks := rankSet{}
	for _, m := range s.members {
		s.has = append(s.has, m.template(dir))
		if m.rank >= 0 && m.of == 0 && m.rank < maxRanks {
			ranks = append(ranks, m.rank)
		}
	}
	slices.Sort(s.has)
	s.has = slices.Compact(s.has)
	s.ranks = int64(len(ranks.sorted()))
}

// unlikelyYears takes back numbers that are years where nothing beside them is a step: model_2026.pt.
func unlikelyYears(all []*save) {
	sure := map[string]bool{}
	for _, s := range all {
		if s.step >= 0 && !s.yearlike {
			sure[s.family] = true
		}
	}
	for _, s := range all {
		if s.yearlike && !sure[s.family] {
			s.step = -1
		}
	}
}

// compare finds what each save has to have: what the two before it of its family both have, and for the first what all
// after it have. What is written now and then alone is asked of none.
func compare(all []*save) {
	families := map[string][]*save{}
	for _, s := range all {
		if s.step >= 0 && len(s.has) > 0 {
			families[s.family] = append(families[s.family], s)
		}
	}
	for _, f := range families {
		slices.SortStableFunc(f, func(a, b *save) int { return cmp.Compare(b.step, a.step) })
		for i, s := range f {
			others := f[i+1 : min(i+3, len(f))]
			if len(others) > 0 {
				s.before = others[0]
			}
			if len(others) == 0 {
				others = f[max(0, i-4):i]
			}
			for n, o := range others {
				if n == 0 {
					s.required, s.world = slices.Clone(o.has), o.ranks
					continue
				}
				s.required = slices.DeleteFunc(s.required, func(t string) bool { return !slices.Contains(o.has, t) })
				s.world = min(s.world, o.ranks)
			}
			// A configuration is no part of a state: it is written once, or beside weights that load without it.
			s.required = slices.DeleteFunc(s.required, func(t string) bool {
				return strings.HasPrefix(path.Base(t), "args|") && strings.HasSuffix(t, ".json")
			})
			// Nothing in common: they were written in different ways.
			if len(s.has) > 0 && !slices.ContainsFunc(s.required, func(t string) bool { return slices.Contains(s.has, t) }) {
				s.required, s.world = nil, 0
			}
		}
	}
}

// checkpoint is the candidate that a save makes.
func (s *save) checkpoint(root *dir) *Checkpoint {
	c := &Checkpoint{Step: -1, save: s}
	if s.step >= 0 {
		c.Step, c.Unit, c.StepFrom = s.step, s.unit, StepFromName
	}
	c.Path = s.members[0].path
	if !s.directory {
		c.Path = s.chief().path
	}
	c.Tag = path.Base(c.Path)
	c.Root = root.path
	return c
}

// chief is the file of several that a program is most likely to be told of.
func (s *save) chief() member {
	best, sure := s.members[0], -1
	for _, m := range s.members {
		n := 0
		switch m.roles {
		case "":
			n = 4
		case "model":
			n = 3
		case "generator", "policy", "actor":
			n = 2
		case "optimizer", "scheduler", "scaler", "rng", "args", "meta", "loader", "sampler":
		default:
			n = 1
		}
		if n > sure {
			best, sure = m, n
		}
	}
	return best
}

// shardIndex is the name of the index to a shard such as model-00001-of-00003.safetensors.
func shardIndex(name string) (index string, ok bool) {
	ext := path.Ext(name)
	rest, of, ok := cutLast(strings.TrimSuffix(name, ext), "-of-")
	if !ok || ext != ".safetensors" && ext != ".bin" {
		return "", false
	}
	stem, shard, ok := cutLast(rest, "-")
	_, isShard := digits(shard)
	_, isOf := digits(of)
	return stem + ext + indexSuffix, ok && isShard && isOf
}

// checkIndexed looks at a model in shards with an index.
func checkIndexed(l *look, c *Checkpoint) error {
	c.Basis, c.Elastic = BasisManifest, true
	root, err := l.dir(c.Root)
	if err != nil {
		return err
	}
	name := c.base()
	if !root.has(name) {
		return problem.New(problem.NoMarker, "%s is missing, which is written after its shards", c.Path)
	}
	shards, err := indexed(l, c, root, name)
	if err != nil {
		return err
	}
	c.ShardsExpected, c.ShardsFound = len(shards), l.present(shards)
	if err := checkWeightFiles(l, c, shards); err != nil {
		return err
	}
	// Saved into the same names again, it is the index of the earlier save until the shards are written
	// (save_pretrained in transformers/modeling_utils.py).
	info, err := l.stat(c.Path)
	if err != nil {
		return err
	}
	if err := l.marked(c, c.Path, info.ModTime(), c.parts); err != nil {
		return err
	}
	if err := checkHFConfigs(l, root); err != nil {
		return err
	}
	c.weightsOnly("%s is a model by itself", c.Path)
	return nil
}

// isHFWeights tells the names under which Hugging Face libraries keep weights.
func isHFWeights(name string) bool {
	for _, family := range weightFiles {
		if slices.Contains(family, name) {
			return true
		}
	}
	index, ok := shardIndex(name)
	return ok && isHFWeights(index)
}
