package agent_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"regexp"
	"testing/fstest"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/rendezvous"
)

// saved is the tree of checkpoints, which all nodes of a simulated job read.
type saved struct {
	steps int64 // the newest
	tree  fstest.MapFS
}

// checkpoints is how one node sees the tree. It takes a while, and now and then it shows nothing.
func (s *sim) checkpoints() *checkpoint.Directory {
	return &checkpoint.Directory{
		Name: "simulated", Within: func(path string) string { return path }, Log: slog.New(slog.DiscardHandler),
		Scanner: checkpoint.Scanner{
			Open: func(context.Context) (fs.FS, error) {
				s.mu.Lock()
				wait, fails := s.random(time.Second), s.chance(5)
				s.mu.Unlock()
				s.sleep(wait)
				if fails {
					return nil, fs.ErrPermission
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.tree, nil
			},
			Options: format.Options{
				Format: "custom", Rule: &format.Rule{Glob: "step-*", Step: regexp.MustCompile(`(\d+)`), Marker: "DONE"},
			},
		},
	}
}

// save lets the workers of a round save now and then, once all of them have started, since nobody gets anywhere alone; and
// then as long as they live, even while they are being stopped.
func (n *simNode) save(mine int) {
	s := n.s
	s.after(time.Second+s.random(3*time.Second), func() {
		if n.dead || n.runs == "" || n.started != mine {
			return
		}
		if r := s.rounds[n.runs]; r == nil || s.begun[n.runs] < len(r.Members) {
			n.save(mine)
			return
		}
		s.steps++
		s.tree = maps.Clone(s.tree) // whoever reads it continues with what it had
		if s.tree == nil {
			s.tree = fstest.MapFS{}
		}
		for _, name := range []string{"model", "DONE"} {
			s.tree[fmt.Sprintf("step-%d/%s", s.steps, name)] = &fstest.MapFile{Data: []byte(name), ModTime: time.Now()}
		}
		n.save(mine)
	})
}

// newest checks that a round begins from the newest that was saved, R4.
func (s *sim) newest(id string, r rendezvous.Resume) {
	if (s.steps == 0) != (r.Step == nil) || r.Step != nil && *r.Step != s.steps {
		s.violate("R4: round %s begins from %+v, and %d was saved", id, r, s.steps)
	}
}
