package supervisor

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/evidence"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/preflight"
	"github.com/gangrun/gangrun/supervisor/process"
)

// DefaultPreflightTimeout is how long a probe may take: an nvidia-smi that takes longer waits for a driver that is
// stuck.
const DefaultPreflightTimeout = 30 * time.Second

// Preflight is the look at the machine before it trains.
type Preflight struct {
	On      bool          // else nothing is checked, nor costs anything
	Timeout time.Duration // of each probe; they run side by side
	Command []string      // of one's own; nil: none
	Env     []string      // of what is started
	Dir     string        // in which it is
	// Checkpoints is the directory of the checkpoints on this machine; empty: none.
	Checkpoints string
	Store       []string // HOST:PORT of each member of the store; nil where it is within this process
	Several     bool     // there are other nodes to reach
	// Join, when set, is called once the machine is found fit, so that nobody waits for one that is not.
	Join func()
}

// Missing says why the command could not be started from the directory dir; nil when it could, or there is none.
func (p *Preflight) Missing(dir string) error {
	if len(p.Command) == 0 {
		return nil
	}
	path := environ.Get(p.Env, "PATH")
	_, err := task.Within(openTime, func() (string, error) { return process.Find(p.Command[0], dir, path) }, nil)
	if err == task.ErrLate {
		return nil
	}
	return err
}

// examiner looks at the machine, and remembers how it was at first.
type examiner struct {
	Preflight
	children *children
	gpus     *preflight.GPUs
	links    []preflight.Link
}

// Examine looks at the machine once, for a program that supervises nothing.
func Examine(p Preflight) ([]preflight.Result, error) {
	reaper, err := process.NewReaper()
	if err != nil {
		return nil, err
	}
	e := &examiner{Preflight: p, children: newChildren(reaper)}
	crash.Go(func() {
		for ev := range reaper.Events() {
			if ev.Ended() {
				e.children.ended(ev.PID, statusOf(ev.Status))
			}
		}
	})
	return e.look(), nil
}

// look runs all probes, side by side, and returns what they found, in the order of the documentation.
func (e *examiner) look() []preflight.Result {
	probes := []func() preflight.Result{
		e.lookAtGPUs, lookAtXids, e.lookAtLinks, lookAtSharedMemory,
		func() preflight.Result { return e.lookAtDirectory("disk", os.TempDir()) },
	}
	if e.Checkpoints != "" {
		probes = append(probes, func() preflight.Result { return e.lookAtDirectory("checkpoints", e.Checkpoints) })
	}
	clock := func() preflight.Result { return preflight.JudgeClock(time.Now()) }
	probes = append(probes, e.lookAtStore, clock, lookAtLimits)
	if len(e.Command) > 0 {
		probes = append(probes, func() preflight.Result {
			return preflight.JudgeCommand(filepath.Base(e.Command[0]), e.run(e.Timeout, e.Dir, e.Command...))
		})
	}
	results := make([]preflight.Result, len(probes))
	done := make(chan struct{})
	for i, probe := range probes {
		crash.Go(func() {
			results[i] = probe()
			done <- struct{}{}
		})
	}
	for range probes {
		<-done
	}
	return results
}

// anywhere is where a probe runs that needs no directory: gangrun's own may be on a dead file server.
const anywhere = "/"

// run runs a command for a probe, in the directory dir.
func (e *examiner) run(limit time.Duration, dir string, argv ...string) preflight.Output {
	env := slices.DeleteFunc(slices.Clone(e.Env), func(entry string) bool {
		return strings.HasPrefix(entry, "NOTIFY_SOCKET=") // what is told there is told of gangrun
	})
	return e.children.run(argv, env, dir, limit)
}

// memoryPause is between two looks at memory that the driver has not given back yet.
const memoryPause = time.Second

func (e *examiner) lookAtGPUs() preflight.Result {
	devices, _ := filepath.Glob("/dev/nvidia[0-9]*") // the pattern is right
	before := preflight.Earlier{GPUs: e.gpus, Devices: len(devices)}
	if visible, set := environ.Lookup(e.Env, "CUDA_VISIBLE_DEVICES"); set {
		before.Visible = &visible
	}
	until := time.Now().Add(e.Timeout)
	out := e.run(e.Timeout, anywhere, "nvidia-smi", "-q", "-x")
	for preflight.MemoryKept(out, before) && time.Until(until) > 2*memoryPause {
		time.Sleep(memoryPause)
		again := e.run(time.Until(until), anywhere, "nvidia-smi", "-q", "-x")
		if again.Late > 0 {
			break // it was not stuck a moment ago, and had less than its time
		}
		out = again
	}
	if found, err := preflight.ParseGPUs(out.Text); e.gpus == nil && err == nil {
		e.gpus = &found
	}
	return preflight.JudgeGPUs(out, before)
}

func lookAtXids() preflight.Result {
	xids, readable := evidence.PastXids()
	return preflight.JudgeXids(xids, readable, time.Now())
}

func (e *examiner) lookAtLinks() preflight.Result {
	links := networkLinks("/sys/class/net")
	first := e.links
	if first == nil {
		e.links = links
	}
	return preflight.JudgeLinks(links, first, environ.Get(e.Env, "NCCL_SOCKET_IFNAME"), e.Several)
}

// networkLinks reads the interfaces; nil where they cannot be read.
func networkLinks(dir string) []preflight.Link {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	links := []preflight.Link{}
	for _, entry := range entries {
		at := filepath.Join(dir, entry.Name())
		flags, err := os.ReadFile(filepath.Join(at, "flags"))
		if err != nil {
			continue // a file of another kind: bonding_masters
		}
		l := preflight.Link{Name: entry.Name(), Enabled: enabled(string(flags))}
		carrier, err := os.ReadFile(filepath.Join(at, "carrier")) // an error where it is switched off
		l.Carrier = err == nil && strings.TrimSpace(string(carrier)) == "1"
		_, err = os.Stat(filepath.Join(at, "device"))
		l.Real = err == nil
		links = append(links, l)
	}
	return links
}

// enabled reads the flags of an interface: an odd number is IFF_UP.
func enabled(flags string) bool {
	flags = strings.TrimSpace(flags)
	return flags != "" && strings.ContainsRune("13579bdfBDF", rune(flags[len(flags)-1]))
}

func lookAtSharedMemory() preflight.Result {
	s, there := evidence.SharedMemory()
	return preflight.JudgeSharedMemory(s.Size, s.Free, there)
}

func (e *examiner) lookAtDirectory(probe, path string) preflight.Result {
	at := path
	if !filepath.IsAbs(at) {
		at = filepath.Join(e.Dir, at)
	}
	return preflight.JudgeDirectory(probe, path, e.run(e.Timeout, anywhere, ownProgram, ProbeCommand, at))
}

// storeTime is how long a member of the store may take to answer.
const storeTime = 3 * time.Second

func (e *examiner) lookAtStore() preflight.Result {
	var tries []preflight.Reached
	ctx, cancel := context.WithTimeout(context.Background(), min(storeTime, e.Timeout))
	defer cancel()
	for _, address := range e.Store {
		tries = append(tries, reach(ctx, address))
	}
	return preflight.JudgeStore(tries)
}

func reach(ctx context.Context, address string) preflight.Reached {
	r := preflight.Reached{Address: address}
	began := time.Now()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	r.Took = time.Since(began)
	dns := (*net.DNSError)(nil)
	switch {
	case err == nil:
		conn.Close()
	case errors.As(err, &dns):
		r.Unknown = dns.Err
	case errors.Is(err, unix.ECONNREFUSED):
		r.Refused = true
	default:
		r.Error = err.Error()
	}
	return r
}

func lookAtLimits() preflight.Result {
	var files, locked unix.Rlimit
	known := unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil && unix.Getrlimit(unix.RLIMIT_MEMLOCK, &locked) == nil
	rdma, _ := filepath.Glob("/dev/infiniband/uverbs*") // the pattern is right
	return preflight.JudgeLimits(preflight.Limits{
		Files: files.Max, Locked: locked.Max, Unlimited: locked.Max == unix.RLIM_INFINITY, RDMA: len(rdma) > 0,
	}, known)
}

// probe looks at the machine, beside the loop.
func (s *Supervisor) probe() {
	s.beside(func() func() {
		results := s.examiner.look()
		ev := node.Probed{}
		for _, r := range results {
			switch r.State {
			case preflight.Sick:
				ev.Sick = append(ev.Sick, r.String())
			case preflight.Note:
				ev.Notes = append(ev.Notes, r.String())
			}
		}
		return func() { s.step(ev) }
	})
}
