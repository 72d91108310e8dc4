package format

import (
	"cmp"
	"slices"
)

// claim says whether something is what a format writes.
type claim int

const (
	no     claim = iota
	beside       // nothing in it is what the format writes, but it may stand beside that
	maybe        // nothing in it says so, and nothing says otherwise: a save that has just begun
	yes
)

// maxClaims is how many candidates of a format are looked into, the newest. The older ones are taken to be like them: each
// may hold thousands of files.
const maxClaims = 16

// claimed keeps those of the candidates of a format that it has written. Those of which nothing can be told are its own
// when others are, and when none is anybody else's; those that hold only what may stand beside, when others are.
func (l *look) claimed(k kind, found []*Checkpoint) ([]*Checkpoint, error) {
	order := slices.SortedStableFunc(slices.Values(found), newestFirst)
	order = order[:min(len(order), maxClaims)]
	answers := make([]claim, len(order))
	err := l.eachOf(len(order), func(i int) (err error) {
		answers[i], err = k.claims(l, order[i])
		if vanished(err) {
			answers[i], err = maybe, nil
		} else if err != nil && l.ctx.Err() == nil {
			answers[i], err = maybe, nil // it cannot be read: the check says so
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if best := slices.MaxFunc(append(answers, no), func(a, b claim) int { return cmp.Compare(a, b) }); best < maybe ||
		best == maybe && slices.ContainsFunc(answers, func(a claim) bool { return a < maybe }) {
		return nil, nil
	}
	return slices.DeleteFunc(found, func(c *Checkpoint) bool {
		i := slices.Index(order, c)
		return i >= 0 && answers[i] == no
	}), nil
}

// claimDir claims a directory by what it holds; an empty one, or one that is not there, may be anybody's.
func (l *look) claimDir(c *Checkpoint, is func(d *dir) (claim, error)) (claim, error) {
	info, err := l.stat(c.Path)
	if err != nil || !info.IsDir() {
		return maybe, err
	}
	d, err := l.dir(c.Path)
	if err != nil || len(d.names) == 0 {
		return maybe, err
	}
	return is(d)
}

func whether(is bool) claim {
	if is {
		return yes
	}
	return no
}
