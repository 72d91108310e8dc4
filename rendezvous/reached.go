package rendezvous

import (
	"fmt"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/words"
)

// Reached is how far a node's workers have come, under the key "progress/<name>", on the node's lease. It is written at
// most once a minute while they get on, soon after they do not, and with the word that they have failed or are gone.
type Reached struct {
	V     int    `json:"v"`
	Round int    `json:"round"`
	Step  *int64 `json:"step,omitempty"`  // the least that one of them has told
	Phase string `json:"phase,omitempty"` // of that one
	// Still says that they have got nowhere for so long that it may be a hang: half of the limit has passed.
	Still bool `json:"still,omitempty"`
	// Busy is what its ranks do that takes longer than a step, where others may wait for that: a phase, or io. Then Own is not
	// told.
	Busy string `json:"busy,omitempty"`
	// Checkpoint is the step of the newest whole checkpoint that the node knows of.
	Checkpoint *int64 `json:"checkpoint,omitempty"`
	// Own is what of a step was the ranks' own, where they tell that.
	Own *OwnTime `json:"own,omitempty"`
}

// OwnTime is how long the ranks of a node take for their own part of a step, in which they wait for nobody: over about a
// minute. No clock of two nodes has to agree for that.
type OwnTime struct {
	// Minute counts up: a node that writes twice within one has told it once.
	Minute int `json:"n"`
	// Usec is the median of the ranks, Step that of whole steps, both in microseconds; Steps is how many a rank has told.
	Usec  int64 `json:"usec"`
	Step  int64 `json:"step"`
	Steps int   `json:"steps"`
	// Rank is the one that takes longest, -1 where it does not say which it is, and RankUsec what it takes.
	Rank     int   `json:"rank"`
	RankUsec int64 `json:"worst"`
}

// Bounds of what a node tells of its own time.
const (
	maxOwnUsec  = int64(time.Hour / time.Microsecond)
	maxOwnSteps = 1e7
	maxOwnRank  = 1<<20 - 1
)

func (o *OwnTime) check() error {
	switch {
	case o.Minute < 1 || o.Minute > maxOwnSteps || o.Steps < 1 || o.Steps > maxOwnSteps || o.Rank < -1 || o.Rank > maxOwnRank:
		return fmt.Errorf("own time: minute %d, %d steps, rank %d", o.Minute, o.Steps, o.Rank)
	case !inHour(o.Usec) || !inHour(o.Step) || !inHour(o.RankUsec):
		return fmt.Errorf("own time: %d of %d and %d: want microseconds, at most an hour of them", o.Usec, o.Step, o.RankUsec)
	}
	return nil
}

func inHour(usec int64) bool { return usec >= 0 && usec <= maxOwnUsec }

// maxReachedBytes bounds the key's value.
const maxReachedBytes = 256

// ParseReached reads the value of a key "progress/<name>". Its errors name the key and what is wrong with it.
func ParseReached(key string, b []byte) (*Reached, error) {
	return parse(key, b, maxReachedBytes, (*Reached).check)
}

func (p *Reached) check() error {
	switch {
	case p.Round < 0 || p.Round > maxNumber:
		return fmt.Errorf("round %d", p.Round)
	case !isPhase(p.Phase) || !isPhase(p.Busy):
		return fmt.Errorf("phase %q, busy with %q: want at most %d printable bytes", cut(p.Phase), cut(p.Busy), maxPhase)
	case p.Own != nil:
		return p.Own.check()
	}
	return nil
}

// maxPhase bounds the name of a phase, in bytes.
const maxPhase = 32

func isPhase(text string) bool { return text == "" || len(text) <= maxPhase && name(text) }

// compared is the stop of a round whose nodes all got nowhere, and of which none knows why, with what tells them apart:
// the node that has come least far is the cause.
func (t *turn) compared(stop Stop, members []member) Stop {
	if !stop.Outcome.hangs() || len(members) < 2 {
		return stop
	}
	c := t.compare(members, stop.Round)
	if c.told < 2 {
		return stop
	}
	if c.least < c.most && len(c.behind) == 1 {
		stop.Node, t.behind = c.behind[0], c.behind[0]
	}
	stop.Message = cut(fmt.Sprintf("%s; %s", stop.Message, c))
	return stop
}

// behindMost is, where several nodes each know which of their own ranks the others wait for, the report of the one that has
// come least far: whoever it is that holds up the others of its node, these wait for that node. Of several that are as far,
// or where none is behind, it is the one of which the store heard first.
func (t *turn) behindMost(g report, reports []report, members []member) report {
	found := func(o *Outcome) bool {
		return o.hangs() && o.role() == exitcodes.RoleRoot
	}
	if !found(g.outcome) {
		return g
	}
	c := t.compare(slices.DeleteFunc(slices.Clone(members), func(m member) bool {
		return !slices.ContainsFunc(reports, func(r report) bool { return r.node == m.Name && found(r.outcome) })
	}), t.Round.Number)
	if c.told < 2 || c.least == c.most {
		return g
	}
	var first report
	for _, r := range reports {
		if slices.Contains(c.behind, r.node) && found(r.outcome) && (first.outcome == nil || r.rev < first.rev) {
			first = r
		}
	}
	o := *first.outcome
	o.Message = cut(fmt.Sprintf("%s; %s", o.Message, c))
	first.outcome = &o
	return first
}

// compare compares the members that have told a step in the round, without those that count steps of their own.
func (t *turn) compare(members []member, round int) (c comparison) {
	for _, m := range members {
		if p := t.Reached[m.Name]; p != nil && p.Round == round && t.gang(m) {
			c.add(m.Name, p)
		}
	}
	return c
}

// comparison is which nodes have come least far.
type comparison struct {
	behind      []string
	phases      []string // of those
	least, most int64
	told        int
}

func (c *comparison) add(name string, p *Reached) {
	if p.Step == nil {
		return
	}
	if c.told++; c.told == 1 || *p.Step < c.least {
		c.behind, c.phases, c.least = nil, nil, *p.Step
	}
	if *p.Step == c.least {
		c.behind, c.phases = append(c.behind, name), append(c.phases, p.Phase)
	}
	c.most = max(c.most, *p.Step)
}

// String is for a person, where at least two have told a step.
func (c comparison) String() string {
	if c.least == c.most {
		return fmt.Sprintf("all nodes that report are at step %d", c.least)
	}
	who := words.Few(c.behind)
	if len(c.behind) == 1 && c.phases[0] != "" && c.phases[0] != "train" {
		who += " (" + c.phases[0] + ")"
	}
	return fmt.Sprintf("behind: %s, at step %d of %d", who, c.least, c.most)
}

// StandsStill says how far the nodes have come if all that tell steps have got nowhere for half of the time after which it
// is a hang; empty where one gets on, or where there are not two to compare.
func StandsStill(v View) string {
	if v.Job == nil || v.Round == nil || v.Job.Phase != Running || v.Job.Round != v.Round.Number {
		return ""
	}
	var c comparison
	for _, m := range v.Round.Members {
		p := v.Reached[m.Name]
		if p == nil || p.Round != v.Round.Number || v.Job.Spec.restart(m.Role) != RestartGang {
			continue
		}
		if !p.Still {
			return ""
		}
		c.add(m.Name, p)
	}
	if c.told < 2 {
		return ""
	}
	return c.String()
}
