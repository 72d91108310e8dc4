package format

import "path"

// amongWords reports whether a bare number stands behind a word of a program's own and before another, or before one that says
// which of those that are written over it is: coco_5_cap_per_img, net_b7_0_last.
func amongWords(ps []piece, at int) bool {
	own := func(p piece) bool {
		return !p.number && !neutralWords[p.text] && !rankWords[p.text] && !partWords[p.text] && !slotWords[p.text] && !endingWords[p.text] && roleWords[p.text] == "" &&
			!stepWords[p.text] && !epochWords[p.text] && !plurals[p.text]
	}
	if at == 0 || at+1 >= len(ps) || ps[at+1].glued {
		return false
	}
	next := ps[at+1]
	return own(ps[at-1]) && (slotWords[next.text] || own(next) && !measures[next.text])
}

// idleNumbers takes back numbers among words that no other save of the same name differs in: a fold, a size, the number of captions of
// an image. What has no other is written over in place.
func idleNumbers(saves []*save) {
	numbers := map[string]map[int64]bool{}
	for _, s := range saves {
		if numbers[s.family] == nil {
			numbers[s.family] = map[int64]bool{}
		}
		numbers[s.family][s.step] = true
	}
	for _, s := range saves {
		if !s.inner || s.step < 0 || len(numbers[s.family]) > 1 {
			continue
		}
		s.step, s.family = -1, s.family+"|"+path.Base(s.members[0].path)
		for i := range s.members {
			s.members[i].step = -1
		}
	}
}
