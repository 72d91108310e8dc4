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
	if len(v.lists) > mostLists { // a list that has no bit would never be heard
		panic("exitcodes: too many lists of phrases")
	}
	return len(v.lists) - 1
}

const mostLists = 64 * len(heard{})

// heard are the lists of which a phrase is in a text.
type heard [2]uint64

func (h heard) any(list int) bool { return h[list/64]&(1<<(list%64)) != 0 }

// hears is that of one list.
func hears(list int) (h heard) {
	h.add(list)
	return h
}

func (h *heard) add(list int) { h[list/64] |= 1 << (list % 64) }

// in returns the lists of which a phrase is in the text.
func (v *vocabulary) in(lower []byte) heard {
	var h heard
	for i := range v.filter().candidates(lower) {
		h.add(i)
	}
	return h
}
