package exitcodes

import (
	"bytes"
	"iter"
	"slices"
)

// prefilter tells, in one pass over a line, which rules are worth their regular expression: those with one of their
// literals in the line, and those without literals. Of each literal it knows one piece of four bytes by its hash, the one
// that the fewest others have: at most places of a line no such piece ends, and where one does, its literals are
// compared. An automaton compares nothing, but is big and slow to make, and for that the first failure of a run waits.
type prefilter struct {
	has      [hashes / 64]uint64 // a bit for each hash of a piece
	first    [hashes / 64]int32  // of the literals with one of these 64 hashes; 0: there is none
	literals []literal           // number 0 is none
	short    []literal           // those that have no piece are looked for one by one
	always   []int               // rules without literals
	rules    int
}

type literal struct {
	text string
	rule int
	end  int   // of its piece, in the text
	next int32 // the next with one of the same 64 hashes
}

const (
	pieceLength = 4
	hashes      = 1 << 16
)

// piece is the last four bytes that were read.
type piece uint32

func (p piece) with(b byte) piece { return p>>8 | piece(b)<<24 }

func (p piece) hash() uint32 { return uint32(p) * 0x9e3779b1 >> 16 }

func newPrefilter(list []Rule) *prefilter {
	p := &prefilter{rules: len(list), literals: make([]literal, 1, 1024)}
	for i, rule := range list {
		if rule.Pattern != nil && len(rule.Literals) == 0 || slices.Contains(rule.Literals, "") {
			p.always = append(p.always, i)
			continue
		}
		for _, text := range rule.Literals {
			if l := (literal{text: text, rule: i}); len(text) < pieceLength {
				p.short = append(p.short, l)
			} else {
				p.literals = append(p.literals, l)
			}
		}
	}
	var often [hashes]uint16
	for _, l := range p.literals {
		l.pieces(func(_ int, h uint32) { often[h]++ })
	}
	for n := 1; n < len(p.literals); n++ {
		l := &p.literals[n]
		var rarest uint32
		l.pieces(func(end int, h uint32) {
			if l.end == 0 || often[h] < often[rarest] {
				l.end, rarest = end, h
			}
		})
		p.has[rarest/64] |= 1 << (rarest % 64)
		l.next, p.first[rarest/64] = p.first[rarest/64], int32(n)
	}
	return p
}

// pieces tells where each piece of the literal ends, and its hash.
func (l literal) pieces(tell func(end int, hash uint32)) {
	var last piece
	for i := range len(l.text) {
		if last = last.with(l.text[i]); i+1 >= pieceLength {
			tell(i+1, last.hash())
		}
	}
}

// in reports whether the literal is in a line in which its piece ends there.
func (l *literal) in(line []byte, end int) bool {
	start := end - l.end
	return start >= 0 && len(l.text) <= len(line)-start && string(line[start:start+len(l.text)]) == l.text
}

// candidates yields the indexes of the rules that may match the line, in order, each once.
func (p *prefilter) candidates(line []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		set := p.hit(line)
		if set == nil {
			for _, rule := range p.always {
				if !yield(rule) {
					return
				}
			}
			return
		}
		for _, rule := range p.always {
			set[rule] = true
		}
		for rule, hit := range set {
			if hit && !yield(rule) {
				return
			}
		}
	}
}

// hit tells of each rule whether it has a literal in the line. It is nil where none has, as in nearly every line.
func (p *prefilter) hit(line []byte) (set []bool) {
	hit := func(l *literal) {
		if set == nil {
			set = make([]bool, p.rules)
		}
		set[l.rule] = true
	}
	var last piece
	for i, b := range line {
		last = last.with(b)
		h := last.hash()
		if p.has[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		for n := p.first[h/64]; n != 0; n = p.literals[n].next {
			if l := &p.literals[n]; (set == nil || !set[l.rule]) && l.in(line, i+1) {
				hit(l)
			}
		}
	}
	for i := range p.short {
		if l := &p.short[i]; (set == nil || !set[l.rule]) && bytes.Contains(line, []byte(l.text)) {
			hit(l)
		}
	}
	return set
}
