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
	var behind []string
	var least, most int64
	told := 0
	for _, m := range members {
		p := t.Reached[m.Name]
		if p == nil || p.Step == nil || p.Round != stop.Round || !t.gang(m) { // others count steps of their own
			continue
		}
		if told++; told == 1 || *p.Step < least {
			behind, least = nil, *p.Step
		}
		if *p.Step == least {
			behind = append(behind, m.Name)
		}
		most = max(most, *p.Step)
	}
	switch {
	case told < 2:
	case least == most:
		stop.Message = cut(fmt.Sprintf("%s; all nodes that tell have told step %d", stop.Message, least))
	case len(behind) == 1:
		stop.Node, t.behind = behind[0], behind[0]
		fallthrough
	default:
		stop.Message = cut(fmt.Sprintf("%s; behind: %s, at step %d of %d", stop.Message, few(behind), least, most))
	}
	return stop
}

// few lists names, bounded.
func few(names []string) string {
	const most = 4
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
