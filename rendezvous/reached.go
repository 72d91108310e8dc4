package rendezvous

import (
	"fmt"
	"strings"

	"github.com/gangrun/gangrun/exitcodes"
)

// Reached is how far a node's workers have come, under the key "progress/<name>", on the node's lease. It is written at
// most once a minute while they get on, soon after they do not, and with the word that they have failed or are gone.
type Reached struct {
	V     int    `json:"v"`
	Round int    `json:"round"`
	Step  *int64 `json:"step,omitempty"`  // the least that one of them has told
	Phase string `json:"phase,omitempty"` // of that one
	// Still says that they have got nowhere for so long that it may be a hang: half of the time is over.
	Still bool `json:"still,omitempty"`
	// Checkpoint is the step of the newest whole checkpoint that the node knows of.
	Checkpoint *int64 `json:"checkpoint,omitempty"`
}

// maxReachedBytes bounds the key's value.
const maxReachedBytes = 256

// ParseReached reads the value of a key "progress/<name>".
func ParseReached(key string, b []byte) (*Reached, error) {
	return parse(key, b, maxReachedBytes, (*Reached).check)
}

func (p *Reached) check() error {
	switch {
	case p.Round < 0 || p.Round > maxNumber:
		return fmt.Errorf("round %d", p.Round)
	case len(p.Phase) > maxPhase || p.Phase != "" && !name(p.Phase):
		return fmt.Errorf("phase %q: want at most %d printable bytes", cut(p.Phase), maxPhase)
	}
	return nil
}

// maxPhase bounds the name of a phase, in bytes.
const maxPhase = 32

// compared is the stop of a round whose nodes all got nowhere, and of which none knows why, with what tells them apart:
// the node that has come least far is the cause.
func (t *turn) compared(stop Stop, members []member) Stop {
	if o := stop.Outcome; o == nil || o.Reason != exitcodes.ReasonHang || len(members) < 2 {
		return stop
	}
	var c comparison
	for _, m := range members {
		if p := t.Reached[m.Name]; p != nil && p.Round == stop.Round && t.gang(m) { // others count steps of their own
			c.add(m.Name, p)
		}
	}
	if c.told < 2 {
		return stop
	}
	if c.least < c.most && len(c.behind) == 1 {
		stop.Node, t.behind = c.behind[0], c.behind[0]
	}
	stop.Message = cut(fmt.Sprintf("%s; %s", stop.Message, c))
	return stop
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
		return fmt.Sprintf("all nodes that tell have told step %d", c.least)
	}
	who := few(c.behind)
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

// few lists names, bounded.
func few(names []string) string {
	const most = 4
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
