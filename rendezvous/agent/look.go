package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// ErrNoJob is returned where the store has no record of the job.
var ErrNoJob = errors.New("the store has no record of this job")

// ErrNobodyThere is returned where no node is there that could take a command.
var ErrNobodyThere = errors.New("no node of the job is there")

// Status is a job as somebody sees it who does not take part.
type Status struct {
	Job   *rendezvous.Job            `json:"job"`
	Round *rendezvous.Round          `json:"round,omitempty"`
	Nodes map[string]rendezvous.Node `json:"nodes"`
	Why   rendezvous.WhyNot          `json:"why"`
	// Hosts are those on which something went wrong, by name.
	Hosts map[string]rendezvous.HostState `json:"hosts,omitempty"`
	// Reached is how far the workers of the nodes have come, while they run; up to a minute old.
	Reached map[string]*rendezvous.Reached `json:"progress,omitempty"`
	// Unreadable are keys with values that cannot be used, and why.
	Unreadable map[string]string `json:"unreadable,omitempty"`
	deserted   bool              // nobody stands for election
}

// Watch calls show with the job as it is now and at each change, until show says false, the context ends or the store cannot be
// read any more. It returns nil in the first case, and else why it ended: the context's error, or store.ErrClosed.
func Watch(ctx context.Context, st store.Store, show func(Status) (more bool)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l := &leader{
		Agent: &Agent{log: slog.New(slog.DiscardHandler), now: time.Now}, looks: true, ctx: ctx, store: st,
		rows: map[string]store.KV{}, bad: map[string]string{}, watch: st.Watch(ctx, ""),
	}
	for {
		select {
		case u, ok := <-l.watch.Updates():
			if !ok {
				return errors.Join(ctx.Err(), store.ErrClosed)
			}
			_ = l.update(u) // what is shown is the newest that has come
		case <-ctx.Done():
			return ctx.Err()
		}
		if !show(l.status()) {
			return nil
		}
	}
}

func (l *leader) status() Status {
	now := time.Now()
	l.view.Observations = rendezvous.Observe(l.view.Observations, l.view, l.puts, now)
	l.puts = nil
	s := Status{
		Job: l.view.Job, Round: l.view.Round, Nodes: map[string]rendezvous.Node{}, Unreadable: maps.Clone(l.bad),
		Reached: maps.Clone(l.view.Reached),
	}
	s.deserted = len(l.view.Candidates) == 0
	for name, e := range l.view.Nodes {
		s.Nodes[name] = *e.Node
	}
	if s.Job != nil && l.bad[jobKey] == "" {
		s.Why = rendezvous.Decide(l.view, now).Why // what the leader waits for, too
		s.Hosts = rendezvous.Hosts(l.view, now)
		if c := l.view.Controls; s.deserted && len(c) > 0 && s.Why.Text == "" {
			s.Why = rendezvous.WhyNot{For: rendezvous.WaitsForNodes, Text: c[0].Verb + " is accepted; it takes effect when a node joins"}
		}
	}
	return s
}

// ongoing is the job as the store has it, unless it has ended.
func ongoing(ctx context.Context, st store.Store) (*rendezvous.Job, error) {
	res, err := st.Commit(ctx, store.Txn{Read: []string{jobKey}})
	if err != nil {
		return nil, err
	}
	if len(res.Read) == 0 {
		return nil, ErrNoJob
	}
	job, err := rendezvous.ParseJob(jobKey, res.Read[0].Value)
	if err != nil {
		return nil, err
	}
	if job.Phase == rendezvous.Succeeded || job.Phase == rendezvous.Failed {
		return nil, fmt.Errorf("the job has ended already: %s, %s", job.End.Verdict, job.End.Reason)
	}
	return job, nil
}

// send leaves a command for the leader and returns its id. It is about the run, and the round, that the store has now;
// host is that of unban.
func send(ctx context.Context, st store.Store, verb, host, by string) (string, error) {
	job, err := ongoing(ctx, st)
	if err != nil {
		return "", err
	}
	c := rendezvous.Control{V: 1, ID: rand.Text(), Verb: verb, Host: host, RunUID: job.RunUID, By: by, At: time.Now().UTC()}
	if verb == rendezvous.VerbRestart {
		c.Round = &job.Round
	}
	value, err := rendezvous.Encode(&c)
	if err != nil {
		return "", err
	}
	_, err = st.Commit(ctx, store.Txn{Then: []store.Op{store.Put(controls+store.Escape(c.ID), value)}})
	return c.ID, err
}

// Tell leaves a command for the leader and waits until it was handled. ErrNobodyThere says that a suspended job has no
// node that could: the first that joins will. The status is the last that was seen, also beside an error; left says
// whether the command is in the store. It looks before it leaves the command: a store within gangrun goes with the job
// that a command has ended, and who opens his watch only then comes too late.
func Tell(ctx context.Context, st store.Store, verb, host, by string) (last Status, left bool, err error) {
	if _, err := ongoing(ctx, st); err != nil {
		return last, false, err // at once: a watch would wait for a store that does not answer
	}
	var id string
	var refused error
	deserted := false
	err = Watch(ctx, st, func(s Status) bool {
		last = s
		if id == "" {
			if id, refused = send(ctx, st, verb, host, by); refused != nil {
				return false
			}
			return true // the command itself is the next change
		}
		if s.Job == nil {
			return true
		}
		if deserted = s.deserted && s.Job.Phase == rendezvous.Suspended; deserted {
			return false
		}
		return !slices.Contains(s.Job.Handled, id)
	})
	switch {
	case refused != nil:
		return last, false, refused
	case err == nil && deserted:
		err = ErrNobodyThere
	}
	return last, id != "", err
}
