package command

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/preflight"
)

// preflightSettings are the settings of the checks of the machine before it trains.
func (o *options) preflightSettings() []*setting {
	p := &o.Preflight
	p.Timeout = supervisor.DefaultPreflightTimeout
	return []*setting{
		{name: "preflight", group: groupMachine, isBool: true, parse: boolean(&p.On),
			usage: "check this machine before it takes part, and between rounds after a hang, a sick node or a second " +
				"failure; a sick one exits with 214 (NodeUnhealthy)"},
		{name: "preflight-command", group: groupMachine, hint: "COMMAND", parse: preflightCommand(p), standard: "none",
			usage: "an additional check: any exit code but 0 means that the machine is sick; split into words, not run by a shell"},
		{name: "preflight-timeout", group: groupMachine, hint: "TIME", parse: positive(&p.Timeout),
			standard: supervisor.DefaultPreflightTimeout.String(),
			usage:    "how long a probe may take before it is killed; they run side by side"},
	}
}

func preflightCommand(p *supervisor.Preflight) func(string) error {
	return func(s string) (err error) {
		p.Command, err = splitWords(s)
		return err
	}
}

// settlePreflight completes these settings, once it is known where the nodes meet. It costs nothing if they are off.
func (o *options) settlePreflight(settings []*setting) error {
	p := &o.Preflight
	if !p.On {
		return nil
	}
	p.Env, p.Dir = workerEnvironment(settings), o.Dir
	if err := p.Missing(o.Dir); err != nil {
		return &configError{fmt.Sprintf("--preflight-command %s: %v", p.Command[0], err)}
	}
	if dir := o.resuming.dir; dir != "" && !isURL(dir) {
		p.Checkpoints = dir
		if !filepath.IsAbs(dir) {
			p.Checkpoints = filepath.Join(o.Dir, dir)
		}
	}
	p.Store = o.storeAddresses()
	p.Several = slices.ContainsFunc(p.Store, onAnotherMachine)
	return nil
}

// onAnotherMachine reports whether an address can be that of another machine.
func onAnotherMachine(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	return host != "localhost" && !net.ParseIP(host).IsLoopback()
}

// storeAddresses are HOST:PORT of each member of the store; nil where it is within this process.
func (o *options) storeAddresses() (list []string) {
	if o.location.Host != "" {
		return []string{net.JoinHostPort(o.location.Host, strconv.Itoa(o.location.Port))}
	}
	for _, endpoint := range o.location.Endpoints {
		if _, after, found := strings.Cut(endpoint, "://"); found {
			endpoint = after
		}
		if _, _, err := net.SplitHostPort(endpoint); err != nil {
			endpoint = net.JoinHostPort(strings.Trim(endpoint, "[]"), "2379")
		}
		list = append(list, endpoint)
	}
	return list
}

// joiner is how the store is opened: with a preflight, only once the machine is found fit. So the others never hear of an
// unfit node, and do not wait for it.
func (o *options) joiner() func(context.Context) (store.Store, error) {
	if !o.Preflight.On {
		return o.connect
	}
	fit := make(chan struct{})
	o.Preflight.Join = sync.OnceFunc(func() { close(fit) })
	return func(ctx context.Context) (store.Store, error) {
		select {
		case <-fit:
			return o.connect(ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// checksOf are the probes' results in doctor's words.
func checksOf(results []preflight.Result) (list []check) {
	states := map[preflight.State]string{preflight.OK: "ok", preflight.Note: "warn", preflight.Sick: "fail"}
	for _, r := range results {
		if r.Probe == preflight.ProbeSharedMemory {
			continue // doctor has more to say about it
		}
		detail := r.Detail
		if r.Do != "" {
			detail += "; " + r.Do
		}
		list = append(list, check{r.Probe, states[r.State], detail})
	}
	return list
}
