package rendezvous

import (
	"encoding/json"
	"fmt"
	"time"
)

// Past is one stop that is over.
type Past struct {
	Round  int       `json:"round"`
	Kind   string    `json:"kind"`
	Node   string    `json:"node,omitempty"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// past is what is remembered of a judged stop.
func (s *Stop) past() Past {
	return Past{Round: s.Round, Kind: s.Kind, Node: s.Node, Reason: s.Reason, At: s.At.Truncate(time.Millisecond)}
}

func (p Past) same(other Past) bool {
	at := p.At.Equal(other.At)
	p.At = other.At
	return at && p == other
}

// told is a past stop as it is stored, where every node is sent the list with each change: its fields without their
// names, or its round alone where Stop says the rest.
type told struct {
	Past
	byStop bool
}

func (p told) MarshalJSON() ([]byte, error) {
	if p.byStop {
		return json.Marshal([]any{p.Round})
	}
	return json.Marshal([]any{p.Round, p.Kind, p.Node, p.Reason, p.At})
}

func (p *told) UnmarshalJSON(data []byte) error {
	fields := []any{&p.Round, &p.Kind, &p.Node, &p.Reason, &p.At}
	all := len(fields)
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("a past stop: %w", err)
	}
	if p.byStop = len(fields) == 1; !p.byStop && len(fields) != all {
		return fmt.Errorf("a past stop has %d fields, want its round, kind, node, reason and time", len(fields))
	}
	return nil
}

// shorten puts the past stops as they are stored in the place of History.
func (b *beginning) shorten() {
	for _, p := range b.History {
		b.Past = append(b.Past, told{Past: p, byStop: b.Stop != nil && p.same(b.Stop.past())})
	}
	b.History = nil
}

// lengthen is the inverse of shorten. Earlier releases have stored History as it is.
func (b *beginning) lengthen() error {
	for _, p := range b.Past {
		if p.byStop {
			if b.Stop == nil || b.Stop.Round != p.Round {
				return fmt.Errorf("nothing tells why round %d stopped", p.Round)
			}
			p.Past = b.Stop.past()
		}
		b.History = append(b.History, p.Past)
	}
	b.Past = nil
	return nil
}
