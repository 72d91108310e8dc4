package rendezvous

import (
	"maps"
	"slices"
	"time"
)

// When a node is slow. What is compared is a median over a minute: a step now and then does not count.
const (
	slowMinutes = 3  // one after the other
	slowMore    = 10 // percent more than the others, where there are two or more of them
	slowThanOne = 25 // than the only other one: nobody else shows who of the two is as usual
	slowOfStep  = 1  // percent of the whole step, at least
	slowHeard   = 3 * time.Minute
)

// Slow finds the nodes for which the others wait: all of whose ranks, or most, take longer for their own part of a step
// than those of the other nodes, minute after minute. It remembers a few numbers of each member of one round.
type Slow struct {
	round int
	nodes map[string]*slowness
}

// slowness is what one node has told, and since when it is slow.
type slowness struct {
	OwnTime
	heard        time.Time
	slow, usual  int // minutes one after the other
	named, fresh bool
}

// SlowNode is a node for which the others wait, or waited.
type SlowNode struct {
	Round int
	Node  string
	Over  bool // it is none any more
	Left  bool // it may still be: but whoever has found it does not lead any more
	// Minutes is for how long it is so, Own what the median of its ranks takes for its own part of a step, Others what that
	// of the other nodes does, and Step how long a whole step is.
	Minutes           int
	Own, Others, Step time.Duration
	// Rank is the one of its ranks that takes longest, -1 where it does not say which it is, and RankOwn what it takes.
	Rank    int
	RankOwn time.Duration
}

// Look takes what the nodes have told by now, and returns the nodes about which that says something new. Nodes whose ranks
// tell no time of their own are not compared: their clocks differ.
func (s *Slow) Look(v View, now time.Time) (news []SlowNode) {
	if v.Job == nil || v.Round == nil || v.Job.Phase != Running || v.Job.Round != v.Round.Number {
		*s = Slow{}
		return nil
	}
	if s.nodes == nil || s.round != v.Round.Number {
		*s = Slow{round: v.Round.Number, nodes: map[string]*slowness{}}
	}
	for _, m := range v.Round.Members {
		if p := v.Reached[m.Name]; p != nil && p.Round == v.Round.Number && p.Own != nil && v.Job.Spec.Gang(m.Role) {
			s.hears(m.Name, *p.Own, now)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		if n := s.nodes[name]; n.fresh {
			n.fresh = false
			if others, many := s.others(name, now); many > 0 && n.judge(others, many) {
				news = append(news, n.tell(s.round, name, others))
			}
		}
	}
	return news
}

func (s *Slow) hears(name string, told OwnTime, now time.Time) {
	n := s.nodes[name]
	if n == nil {
		n = &slowness{}
		s.nodes[name] = n
	}
	if n.Minute != told.Minute {
		n.OwnTime, n.heard, n.fresh = told, now, true
	}
}

// others is what the other nodes take, and how many of them have told of it lately: the median, of two in the middle the
// greater one.
func (s *Slow) others(but string, now time.Time) (usec int64, many int) {
	var all []int64
	for name, n := range s.nodes {
		lately := max(slowHeard.Seconds(), 3*usecs(n.Step).Seconds()*float64(n.Steps))
		if name != but && now.Sub(n.heard).Seconds() <= lately {
			all = append(all, n.Usec)
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], len(all)
}

// judge says whether what is known of the node has changed.
func (n *slowness) judge(others int64, many int) bool {
	limit := int64(slowMore)
	if many == 1 {
		limit = slowThanOne
	}
	switch more := 100 * (n.Usec - others); {
	case more > 0 && more >= limit*others && more >= slowOfStep*n.Step:
		n.slow, n.usual = n.slow+1, 0
	case 2*more < limit*others || 2*more < slowOfStep*n.Step: // by half, so that it does not come and go
		n.slow, n.usual = 0, n.usual+1
	default:
		n.slow, n.usual = 0, 0
	}
	was := n.named
	n.named = n.slow >= slowMinutes || n.named && n.usual < slowMinutes
	return n.named != was
}

func (n *slowness) tell(round int, name string, others int64) SlowNode {
	return SlowNode{
		Round: round, Node: name, Over: !n.named, Minutes: max(n.slow, n.usual), Own: usecs(n.Usec), Others: usecs(others),
		Step: usecs(n.Step), Rank: n.Rank, RankOwn: usecs(n.RankUsec),
	}
}

// Leave forgets everything, and returns the nodes that were named.
func (s *Slow) Leave() (news []SlowNode) {
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		if n := s.nodes[name]; n.named {
			left := n.tell(s.round, name, 0)
			left.Over, left.Left = true, true
			news = append(news, left)
		}
	}
	*s = Slow{}
	return news
}

func usecs(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
