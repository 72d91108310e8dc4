package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/gangrun/gangrun/internal/timer"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/location"
	"github.com/gangrun/gangrun/rendezvous/port"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/process"
)

// connect opens the job's store.
func (o *options) connect(ctx context.Context) (store.Store, error) {
	st, err := location.Open(ctx, o.location)
	return st, withFlag(err, len(o.location.Endpoints) == 0)
}

// withFlag names the flags by which a store that says no may be had after all; hosted is one within gangrun.
func withFlag(err error, hosted bool) error {
	switch {
	case errors.Is(err, store.ErrUnusable):
		return fmt.Errorf("%w (--store-dir)", err)
	case errors.Is(err, store.ErrDenied) && hosted:
		return fmt.Errorf("%w (--store-token-file)", err)
	case errors.Is(err, store.ErrDenied):
		return fmt.Errorf("%w (--store-user-file, --store-password-file)", err)
	}
	return err
}

// join takes part in the job.
func (o *options) join(ctx context.Context, log *slog.Logger) (*agent.Agent, error) {
	spec := o.spec
	r := &spec.Restarts
	r.Backoff, r.BackoffMax, r.Window = rendezvous.Duration(o.backoff), rendezvous.Duration(o.backoffMax), rendezvous.Duration(o.window)
	spec.Fence, spec.JoinTimeout, spec.TTL = rendezvous.Duration(o.fence), rendezvous.Duration(o.joinTimeout), rendezvous.Duration(o.ttl)
	if spec.LastCall = rendezvous.Duration(o.lastCall); o.lastCallGiven {
		spec.LastCallRestart = spec.LastCall
	}
	o.MaxRestarts, o.RestartAny = r.Max, r.Any
	o.NoRestart = r.Never || r.Max == 0
	o.Alone = o.location.InProcess()
	cfg := agent.Config{
		Connect: o.joiner(), Name: cmp.Or(o.Node, "node"), Spec: spec, Log: log, Job: o.Job, Namespace: cmp.Or(o.namespace, "default"), KeepRecord: !o.nameless, Checkpoints: o.directory(log),
		StopTime: o.RestartGrace + stopMargin, StoreTimeout: o.storeTimeout, FirstPort: o.firstPort, Timer: timer.New,
		Node: rendezvous.Node{
			Incarnation: rand.Text(), Slots: o.slots, Role: o.role, Address: cmp.Or(o.address, "127.0.0.1"),
			RunUID: o.runUID, Unique: o.unique, Host: o.host,
		},
	}
	if o.pin >= 0 {
		cfg.Node.Pin = &o.pin
	}
	if !o.noPort {
		cfg.ReservePort = port.Reserve
		if o.portRange.Low > 0 {
			cfg.ReservePort = o.portRange.Reserve
		}
	}
	if o.location.InProcess() {
		cfg.StopTime = 0 // nobody counts on this node to have stopped its workers in time
		return agent.Join(ctx, cfg), nil
	}
	o.location.Log = slog.New(warnings{log.Handler()})
	cfg.Volatile = o.location.Host != ""
	record := o.recordID()
	var err error
	if o.held, err = hold(record, o.Node, o.nodeGiven); err != nil {
		return nil, err
	}
	o.Node, cfg.Name = o.held.name, o.held.name
	o.Member = record + "/" + o.Node
	o.evictPredecessor(ctx, &cfg.Node, log)
	return agent.Join(ctx, cfg), nil
}

// evictPredecessor ends what a dead gangrun of this name has left behind on this machine. Only then may the record say where
// this one runs: to the leader, a newcomer from the same place proves that nothing of the old one runs any more.
func (o *options) evictPredecessor(ctx context.Context, node *rendezvous.Node, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, predecessorTime)
	defer cancel()
	killed, err := process.EndPredecessor(ctx, supervisor.MemberVariable+"="+o.Member)
	if len(killed) > 0 {
		log.Warn("killed processes that an earlier gangrun of this name left behind", "processes", killed)
	}
	if err != nil {
		log.Error("not proof that an earlier gangrun of this name is gone", "err", err)
		return
	}
	boot, bootErr := os.ReadFile("/proc/sys/kernel/random/boot_id")
	pidns, nsErr := os.Readlink("/proc/self/ns/pid")
	if bootErr == nil && nsErr == nil {
		node.BootID, node.PIDNS = strings.TrimSpace(string(boot)), pidns
	}
}

// predecessorTime is how long an end by SIGKILL may take: a process with much memory takes seconds.
const predecessorTime = 30 * time.Second

// warnings passes on only what is worth reading of the store libraries' log.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
