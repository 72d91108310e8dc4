package exitcodes

import "sync"

// vocabulary finds many phrases in one pass over a text, whatever their number. Each list of phrases has a number; all
// phrases are in lower case, as the text must be.
type vocabulary struct {
	lists  []Rule // the prefilter's terms: one list of literals each
	filter func() *prefilter
}

func newVocabulary() *vocabulary {
	v := &vocabulary{}
	v.filter = sync.OnceValue(func() *prefilter { return newPrefilter(v.lists) })
	return v
}

// list adds a list of phrases; only while the package is initialised.
func (v *vocabulary) list(phrases ...string) int {
	v.lists = append(v.lists, Rule{Literals: phrases})
	return len(v.lists) - 1
}

// heard are the lists of which a phrase is in a text; there are at most 64.
type heard uint64

func (h heard) any(list int) bool { return h&(1<<list) != 0 }

// in returns the lists of which a phrase is in the text.
func (v *vocabulary) in(lower []byte) heard {
	var h heard
	for i := range v.filter().candidates(lower) {
		h |= 1 << i
	}
	return h
}
