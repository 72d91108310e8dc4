package flight

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Record is what a rank's recorder says.
type Record struct {
	Text    []byte // as it came
	Pickled bool   // it is a pickle, else JSON
	// Groups are the process groups that the rank is in, by the name that they have in every rank.
	Groups map[string]Group
	// Calls are the newest of those that are remembered, oldest first.
	Calls []Call
	Cut   bool // there are newer ones than the last of Calls
}

// Group is a process group as one rank sees it; its numbers are -1 where nothing is known.
type Group struct {
	Name, Description string
	// Members are its ranks; nil where that is not known: gloo does not tell.
	Members   []int
	Enqueued  int64 // the number of the last collective that the rank has joined
	Completed int64
}

// Call is one collective, or one message to or from a single rank.
type Call struct {
	Group   string // its name
	Number  int64
	What    string // such as gloo:all_reduce
	At      string // file:line of who has called; empty where that is not known
	Created time.Time
	Pair    bool // a message between two ranks
	Over    bool
	// Elements is how many numbers the rank has put in; -1 where that is not known.
	Elements int64
}

// world is the name of the group of all ranks, which is the first that torch makes.
const world = "0"

// World is the group of all ranks.
func (r Record) World() (Group, bool) {
	g, found := r.Groups[world]
	return g, found
}

// Pending is the first collective of a group that is not over.
func (r Record) Pending(group string) (Call, bool) {
	for _, c := range r.Calls {
		if c.Group == group && !c.Over && !c.Pair && c.Number > r.Groups[group].Completed {
			return c, true
		}
	}
	return Call{}, false
}

// Receives reports whether a message between two ranks is not over, or may not be.
func (r Record) Receives() bool {
	if r.Cut {
		return true
	}
	for _, c := range r.Calls {
		if c.Pair && !c.Over {
			return true
		}
	}
	return false
}

// String is a call for a person.
func (c Call) String() string {
	_, what, found := strings.Cut(c.What, ":")
	if !found {
		what = c.What
	}
	if c.At == "" {
		return what
	}
	return what + " (" + c.At + ")"
}

// Terms are what all ranks have to agree on that join a collective: which it is and, where all have to put in as much, how much.
// Empty for what is no collective of a known kind.
func (c Call) Terms() string {
	_, what, found := strings.Cut(c.What, ":")
	if !found || c.Pair {
		return ""
	}
	switch what {
	case "all_reduce", "_all_gather_base", "_allgather_base", "_reduce_scatter_base":
		if c.Elements >= 0 {
			return fmt.Sprintf("%s of %d elements", what, c.Elements)
		}
	}
	return what
}

// elements is how many numbers are in tensors of these sizes; -1 where that is not known.
func elements(sizes [][]int64) int64 {
	if len(sizes) == 0 {
		return -1
	}
	var all int64
	for _, tensor := range sizes {
		n := int64(1)
		for _, size := range tensor {
			if size < 0 || size > 0 && n > math.MaxInt32*math.MaxInt32/size {
				return -1
			}
			n *= size
		}
		if all += n; all < 0 {
			return -1
		}
	}
	return all
}

// config is a group in the recorder's list of groups.
type config struct{ Name, Desc, Ranks string }

// status is a group in the recorder's list of what was joined, by the number that this rank gives it.
type status struct{ enqueued, completed int64 }

// entry is a call as it is recorded.
type entry struct {
	id   string // the number that this rank gives the group
	desc string
	Call
}

// The bounds on what is kept.
const (
	mostCalls   = 4096
	mostGroups  = 1024
	mostMembers = 1 << 16
)

// assemble makes a record of its parts. Only calls tell which group a number stands for; that of all ranks is the
// first.
func assemble(configs []config, statuses map[string]status, entries []entry) (groups map[string]Group, calls []Call) {
	groups = map[string]Group{}
	names, descriptions := map[string]string{world: world}, map[string]string{}
	for _, e := range entries[max(0, len(entries)-mostCalls):] {
		calls = append(calls, e.Call)
		if e.id != "" && e.Group != "" && len(names) < mostGroups {
			names[e.id], descriptions[e.Group] = e.Group, e.desc
		}
	}
	for id, s := range statuses {
		if name, known := names[id]; known {
			groups[name] = Group{Name: name, Description: descriptions[name], Enqueued: s.enqueued, Completed: s.completed}
		}
	}
	for _, c := range configs {
		if c.Name == "" || len(groups) >= mostGroups { // as gloo writes: the last of all groups that were made, without its name
			continue
		}
		g, joined := groups[c.Name]
		if !joined {
			g = Group{Name: c.Name} // it is in it, and has joined nothing yet
		}
		if g.Description == "" {
			g.Description = c.Desc
		}
		g.Members = members(c.Ranks)
		groups[c.Name] = g
	}
	return groups, calls
}

// members reads a list of ranks as Python writes it; nil where it is none.
func members(text string) (ranks []int) {
	text, found := strings.CutPrefix(strings.TrimSpace(text), "[")
	text, closed := strings.CutSuffix(text, "]")
	if !found || !closed {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || len(ranks) == mostMembers {
			return nil
		}
		ranks = append(ranks, n)
	}
	return ranks
}
