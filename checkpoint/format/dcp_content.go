package format

import (
	"io"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// isStepKey knows the keys of a distributed checkpoint under which there may be how far training is: "step",
// "train_state.step". The steps that an optimizer counts for each parameter are others.
func isStepKey(key string) bool {
	at := strings.LastIndexByte(key, '.')
	last := strings.ToLower(key[at+1:])
	if !slices.Contains(stepKeys, last) && !slices.Contains(epochKeys, last) {
		return false
	}
	if at < 0 {
		return true
	}
	parents := strings.Split(strings.ToLower(key[:at]), ".")
	return len(parents) <= 2 && !slices.ContainsFunc(parents, func(p string) bool { return !within[p] && p != "app" })
}

// dcpContent reads how far training is in what a distributed checkpoint says of itself: a whole number, which lies in a
// shard as torch.save writes it.
func (l *look) dcpContent(c *Checkpoint, d *dir) (in content, err error) {
	in = content{step: -1}
	numbers := map[string]int64{}
	depths := map[string]int{}
	for _, item := range c.items {
		name, depth := strings.ToLower(item.Key[strings.LastIndexByte(item.Key, '.')+1:]), strings.Count(item.Key, ".")
		if before, found := depths[name]; found && before <= depth {
			continue // the outermost counts
		}
		var n int64
		known := false
		err := l.inside(d.join(item.Path), func(r io.ReaderAt, _ int64) (err error) {
			n, known, err = file.TorchNumber(io.NewSectionReader(r, item.Offset, item.Length), item.Length)
			return err
		})
		if err != nil {
			return in, err
		}
		if known {
			numbers[name], depths[name] = n, depth
		}
	}
	in.count(numbers)
	return in, nil
}
