package exitcodes

import "iter"

// prefilter tells, in one pass over a line, which rules are worth their regular expression: those with one of their
// literals in the line, and those without literals. It is the automaton of Aho and Corasick with all transitions
// filled in, over classes of bytes instead of bytes to keep it small.
type prefilter struct {
	class   [256]uint8
	classes int
	next    []uint16 // state*classes + class → state
	hits    [][]int  // state → rules whose literal ends here, or in a suffix of here
	always  []int    // rules without literals
	rules   int
}

func newPrefilter(list []Rule) *prefilter {
	p := &prefilter{rules: len(list), classes: 1} // class 0: bytes that are in no literal
	for _, rule := range list {
		for _, lit := range rule.Literals {
			for i := range len(lit) {
				if p.class[lit[i]] == 0 {
					p.class[lit[i]] = uint8(p.classes)
					p.classes++
				}
			}
		}
	}
	p.reserve(list)
	p.addState()
	for i, rule := range list {
		if rule.Pattern != nil && len(rule.Literals) == 0 {
			p.always = append(p.always, i)
		}
		for _, lit := range rule.Literals {
			p.add(lit, i)
		}
	}
	p.link()
	return p
}

// reserve makes room for as many states as there can be, since a table that grows is copied over and over.
func (p *prefilter) reserve(list []Rule) {
	states := 1
	for _, rule := range list {
		for _, lit := range rule.Literals {
			states += len(lit)
		}
	}
	p.next = make([]uint16, 0, states*p.classes)
	p.hits = make([][]int, 0, states)
}

func (p *prefilter) addState() uint16 {
	p.next = p.next[:len(p.next)+p.classes]
	p.hits = append(p.hits, nil)
	return uint16(len(p.hits) - 1)
}

func (p *prefilter) add(literal string, rule int) {
	state := 0
	for i := range len(literal) {
		at := state*p.classes + int(p.class[literal[i]])
		if p.next[at] == 0 {
			s := p.addState() // p.next may move
			p.next[at] = s
		}
		state = int(p.next[at])
	}
	p.hits[state] = append(p.hits[state], rule)
}

// link fills in, breadth first, where each state goes when its literal cannot be continued.
func (p *prefilter) link() {
	fail := make([]uint16, len(p.hits))
	var queue []uint16
	for _, s := range p.next[:p.classes] {
		if s != 0 {
			queue = append(queue, s)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		s := int(queue[0])
		for c := range p.classes {
			onFail := p.next[int(fail[s])*p.classes+c]
			child := p.next[s*p.classes+c]
			if child == 0 {
				p.next[s*p.classes+c] = onFail
				continue
			}
			fail[child] = onFail
			p.hits[child] = append(p.hits[child], p.hits[onFail]...)
			queue = append(queue, child)
		}
	}
}

// candidates yields the indexes of the rules that may match the line, in order, each once.
func (p *prefilter) candidates(line []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		var set []bool // made only when something is hit, which is rare
		state := 0
		for _, b := range line {
			state = int(p.next[state*p.classes+int(p.class[b])])
			for _, rule := range p.hits[state] {
				if set == nil {
					set = make([]bool, p.rules)
				}
				set[rule] = true
			}
		}
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
