package flight

import (
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
