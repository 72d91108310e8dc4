package format

import (
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// readable is a template as a person would write it.
func readable(template string) string {
	parts := strings.Split(template, "|")
	words := strings.Join(slices.DeleteFunc(parts[:len(parts)-1], func(p string) bool { return p == "" || p == "." }), "_")
	return strings.TrimPrefix(strings.ReplaceAll(words, " ", "_"), "_") + "*" + parts[len(parts)-1]
}

// wholeRanks wants the files of all processes: those that have one, and as many as before.
func wholeRanks(c *Checkpoint, members []member, world int64) error {
	if world < 2 {
		return nil
	}
	sets := map[string]rankSet{}
	for _, m := range members {
		if m.rank >= 0 && m.of == 0 && m.rank < maxRanks {
			set := path.Dir(m.path) + "|" + m.roles
			sets[set] = append(sets[set], m.rank)
		}
	}
	for role, set := range sets {
		set = set.sorted()
		first := set[0] // numbers may begin at 1
		if first > 1 || int64(len(set)) < world || set[len(set)-1] != first+int64(len(set))-1 {
			return problem.New(problem.MissingRankState, "%s has files of %d of %d ranks (%s)", c.Path, len(set), world,
				strings.ReplaceAll(role[strings.Index(role, "|")+1:], " #", ""))
		}
	}
	return nil
}

// wholeShards wants all of a set of files whose names say how many there are: model-00001-of-00003.safetensors. Of a save
// over one with another number some of that may be left.
func wholeShards(c *Checkpoint, members []member) error {
	type set struct {
		template string
		of       int64
	}
	sets, whole := map[set]rankSet{}, map[string]bool{}
	for _, m := range members {
		if m.of > 0 && m.rank >= 0 && m.of < maxRanks {
			k := set{m.template(""), m.of}
			sets[k] = append(sets[k], m.rank)
		}
	}
	for k, numbers := range sets {
		sets[k] = numbers.sorted()
		whole[k.template] = whole[k.template] || int64(len(sets[k])) == k.of
	}
	for k, numbers := range sets {
		if !whole[k.template] {
			return problem.New(problem.MissingShard, "%s has %d of %d files like %s", c.Path, len(numbers), k.of, readable(k.template))
		}
	}
	return nil
}

// rankless is which part of a state a file is, of whichever rank.
func (m member) rankless() string { return strings.TrimSpace(strings.TrimSuffix(m.roles, "rank #")) }
