package rendezvous

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"
)

// TestForgedRecords changes one value of one record to what nobody writes, in each phase of a job, as whoever can write to the
// store may do. A record that can still be read is decided on, by the leader and by the nodes: that comes to an end, and nothing
// panics, which would end every gangrun that reads it.
func TestForgedRecords(t *testing.T) {
	tried := 0
	for phase, make := range map[string]func(*testing.T) *stage{
		"forming": func(t *testing.T) *stage {
			s := newStage(t, DefaultSpec(3))
			s.join("a")
			s.join("b")
			s.settle(ActCreate)
			return s
		},
		"running": func(t *testing.T) *stage { return runningStage(t, DefaultSpec(3)) },
		"stopping": func(t *testing.T) *stage {
			s := runningStage(t, DefaultSpec(3))
			s.fails("b")
			s.settle(ActStop)
			return s
		},
		"stopped": func(t *testing.T) *stage {
			s := runningStage(t, DefaultSpec(3))
			s.fails("b")
			s.settle(ActStop)
			s.stopsAll()
			return s
		},
		"silent": func(t *testing.T) *stage { s := runningStage(t, DefaultSpec(3)); s.expire("c"); s.decide(); return s },
		"suspended": func(t *testing.T) *stage {
			s := runningStage(t, DefaultSpec(3))
			s.command("x", VerbSuspend)
			s.decide()
			return s
		},
		"ended": func(t *testing.T) *stage {
			s := runningStage(t, DefaultSpec(3))
			s.all(succeeds(s))
			s.decide()
			return s
		},
	} {
		s := make(t)
		s.v.Hosts = map[string]*Host{"boot-b": fullHost()}
		s.v.Reached = map[string]*Reached{"b": fullReached()}
		s.v.Controls = append(s.v.Controls, ControlEntry{*fullControl(), s.rev})
		forge := func(record string, r any, full any, put func(*View, []byte) error) {
			for what, b := range forged(t, r, full) {
				v := s.v
				v.Nodes, v.Hosts, v.Reached, v.Controls = maps.Clone(v.Nodes), maps.Clone(v.Hosts), maps.Clone(v.Reached), slices.Clone(v.Controls)
				if put(&v, b) != nil {
					continue
				}
				tried++
				late := time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("%s, %s, %s: no end", phase, record, what)) })
				func() {
					defer func() {
						if e := recover(); e != nil {
							t.Errorf("%s, %s, %s: %v", phase, record, what, e)
						}
					}()
					decideOn(v, s.now)
				}()
				late.Stop()
			}
		}
		if s.v.Job != nil {
			forge("job", s.v.Job, fullJob(), func(v *View, b []byte) (err error) { v.Job, err = ParseJob("job", b); return err })
		}
		if s.v.Round != nil {
			forge("round", s.v.Round, fullRound(), func(v *View, b []byte) (err error) { v.Round, err = ParseRound("rounds/0", b); return err })
		}
		forge("node", s.v.Nodes["b"].Node, fullNode(), func(v *View, b []byte) error {
			n, err := ParseNode("nodes/b", b)
			e := v.Nodes["b"]
			e.Node = n
			v.Nodes["b"] = e
			return err
		})
		forge("host", fullHost(), fullHost(), func(v *View, b []byte) (err error) { v.Hosts["boot-b"], err = ParseHost("hosts/boot-b", b); return err })
		forge("reached", fullReached(), fullReached(), func(v *View, b []byte) (err error) { v.Reached["b"], err = ParseReached("progress/b", b); return err })
		forge("control", fullControl(), fullControl(), func(v *View, b []byte) error {
			c, err := ParseControl("control/x", b)
			if err == nil {
				v.Controls[len(v.Controls)-1].Control = *c
			}
			return err
		})
	}
	if tried < 3000 {
		t.Errorf("only %d records could be read", tried)
	}
}

// decideOn has the leader and the nodes decide, as long as that leads to something.
func decideOn(v View, now time.Time) {
	for range 8 {
		for name, e := range v.Nodes {
			for _, state := range []State{NodeWaiting, NodeRunning} {
				self := Self{Name: name, Incarnation: e.Incarnation, RunUID: e.RunUID, Spec: DefaultSpec(3), State: state, Round: e.Round, Store: v.Token}
				_ = React(self, Reading{Store: v.Token, Job: v.Job, Round: v.Round}, time.Second)
			}
		}
		_ = StandsStill(v)
		v.Rev++
		v.Read = v.Rev
		v.Observations = Observe(v.Observations, v, nil, now)
		d := Decide(v, now)
		if d.Check() != nil { // which nobody writes
			return
		}
		switch {
		case d.Job != nil:
			v.Job, v.JobRev = d.Job, v.Rev
			if d.Round != nil {
				v.Round = d.Round
			}
		case d.Next.After(now):
			now = d.Next
		default:
			return
		}
	}
}

// forged are a record's encodings with one value changed. What the record lacks it has from full.
func forged(t *testing.T, r, full any) map[string][]byte {
	t.Helper()
	var tree, more map[string]any
	for from, to := range map[any]*map[string]any{r: &tree, full: &more} {
		b, err := json.Marshal(from)
		if err == nil {
			err = json.Unmarshal(b, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range more {
		if _, found := tree[name]; !found && name != "brings" && name != "outcome" {
			tree[name] = value
		}
	}
	all := map[string][]byte{}
	var walk func(path string, value any, set func(any))
	walk = func(path string, value any, set func(any)) {
		for _, evil := range evils(value) {
			set(evil)
			b, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprintf("%s = %.40v", path, evil)] = b
		}
		set(value)
		switch value := value.(type) {
		case map[string]any:
			for name, below := range value {
				walk(path+"."+name, below, func(v any) { value[name] = v })
			}
		case []any:
			for i, below := range value {
				walk(fmt.Sprintf("%s[%d]", path, i), below, func(v any) { value[i] = v })
			}
		}
	}
	for name, value := range tree {
		walk(name, value, func(v any) { tree[name] = v })
	}
	return all
}

// evils are what a value is changed to.
func evils(value any) []any {
	switch value := value.(type) {
	case float64:
		return []any{-1, 0, 1, math.MaxInt32, int64(math.MaxInt64), int64(math.MinInt64)}
	case string:
		return []any{"", "x", "\x1b[2J", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0s", "2562047h47m16.854775807s", "-2562047h47m16.854775808s"}
	case bool:
		return []any{!value}
	case []any:
		many := []any{}
		for range 100 {
			many = append(many, value...)
		}
		return []any{nil, []any{}, many}
	}
	return []any{nil, map[string]any{}}
}
