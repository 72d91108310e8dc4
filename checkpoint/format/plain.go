package format

import (
	"cmp"
	"path"
	"slices"
	"strings"
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
	texts     []string // files of text beside one in place, of which nothing but their times says that they belong to it
	before    *save    // of its family, the one before it
	shared    *save    // the state of an optimizer that is written over in place, beside weights of each step
	part      bool     // it is such a one
	kept      bool     // it is the only file in a directory of its own
	several   bool     // it is no save, but a directory of several
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
	form *kind // of a directory in that of the save which is a checkpoint of a form of its own
}

// template is what the names of the same file in different saves have in common.
func (m member) template(dir string) string {
	rel := m.path
	if dir != "" {
		rel = strings.TrimPrefix(rel, dir+"/")
	}
	base := path.Base(rel)
	return path.Join(path.Dir(rel), m.roles+"|"+m.slot+"|"+m.family+"|"+endingOf(base))
}

func findPlain(l *look, root *dir) (found []*Checkpoint, err error) {
	found, rest := findIndexed(l, root)
	files, err := l.plainFiles(root, rest)
	if err != nil {
		return nil, err
	}
	parts, in, err := l.apart(root)
	if err != nil {
		return nil, err
	}
	dirs, err := l.plainDirs(root.without(func(name string) bool { return in[name] }))
	if err != nil {
		return nil, err
	}
	all := slices.Concat(files, parts, dirs)
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
		major        string
		when, alone  string
	}
	groups := map[key]*save{}
	var weak []string
	unfinished := !slices.ContainsFunc(names, func(name string) bool { strong, _, _ := fileKind(name); return strong })
	var mine []string
	add := func(name string) { mine = append(mine, name) }
	for _, name := range names {
		if ofArguments(name) || hiddenCopy(root, name) || l.marks(root, name) {
			continue
		}
		if unfinished && lonely(name) {
			add(name)
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
	for i, name := range looked {
		if !yes[i] && like[seriesOf(name)] {
			yes[i] = l.begun(root.join(name))
		}
	}
	for _, name := range weak {
		if i, found := slices.BinarySearch(looked, name); found && yes[i] || !found && like[seriesOf(name)] {
			add(name)
		}
	}
	titles := titlesOf(mine)
	for _, name := range mine {
		t := titles[name].rotated(root, name)
		k := key{t.family, t.slot, t.unit, t.step, t.major, "", ""}
		if t.step < 0 {
			k.when = t.when
		}
		same := func(m member) bool { return m.roles == t.roles && m.rank == t.rank }
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
		s.members = append(s.members, member{path: root.join(name), title: t})
	}
	idleNumbers(saves)
	saves = bySlot(byOptimizer(byStem(saves)))
	firstOfTwo(saves)
	for _, s := range saves {
		s.templates("")
	}
	attachSides(root, names, saves)
	shareOptimizer(saves)
	return saves, nil
}

// shareOptimizer gives the saves of steps that have no optimizer in their names the one beside them that is written over in
// place: gen_100.pt, gen_200.pt and optimizer.pt, or last-optimizer-state.pt, or gen.rank-0.opt of each rank.
func shareOptimizer(saves []*save) {
	i := slices.IndexFunc(saves, func(s *save) bool {
		return s.step < 0 && (s.slot == "" || newestSlots[s.slot]) && s.when == "" &&
			(s.title.family == "" || slices.ContainsFunc(saves, func(o *save) bool { return o.step >= 0 && o.title.family == s.title.family })) &&
			slices.ContainsFunc(s.members, ofOptimizer) &&
			!slices.ContainsFunc(s.members, func(m member) bool { return !ofOptimizer(m) && (m.roles == "" || strings.Contains(m.roles, "model")) })
	})
	if i < 0 {
		return
	}
	for _, s := range saves {
		if s.step >= 0 && !slices.ContainsFunc(s.members, ofOptimizer) && (saves[i].title.family == "" || s.title.family == saves[i].title.family) {
			s.shared, saves[i].part = saves[i], true
		}
	}
}

// ofArguments reports whether a file is by its name what a program was started with: args.pt, config.pkl.
func ofArguments(name string) bool {
	t := titleOf(name)
	if t.step >= 0 || t.slot != "" {
		return false
	}
	ps := pieces(stemOf(name))
	pickle := slices.Contains([]string{".pkl", ".pickle", ".joblib"}, strings.ToLower(path.Ext(name)))
	return t.roles == "args" && t.family == "" || pickle && len(ps) > 0 && roleWords[ps[len(ps)-1].text] == "args" // model_config.pkl
}

// seriesOf is what the names of the same file in different saves have in common.
func seriesOf(name string) string {
	t := titleOf(name)
	return t.family + "|" + t.slot + "|" + t.roles + "|" + string(t.unit) + endingOf(name)
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
	if s.kept {
		c.Root = path.Dir(c.Path)
	}
	return c
}

// chief is the file of several that a program is most likely to be told of.
func (s *save) chief() member {
	best, sure := s.members[0], -1
	for _, m := range s.members {
		n, ok := importance[m.rankless()]
		switch {
		case ofOptimizer(m):
			n = 0
		case !ok:
			n = 1
			if strings.Contains(m.roles, "generator") { // netG goes before netD, G_A before D_A
				n = 2
			}
		}
		if n > sure {
			best, sure = m, n
		}
	}
	return best
}

// importance is how likely a program is told of a file, by its part.
var importance = map[string]int{"": 4, "model": 3, "generator": 2, "policy": 2, "actor": 2,
	"optimizer": 0, "scheduler": 0, "scaler": 0, "rng": 0, "args": -1, "meta": 0, "loader": 0, "sampler": 0}
