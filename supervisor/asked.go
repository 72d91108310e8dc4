package supervisor

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/evidence/flight"
	"github.com/gangrun/gangrun/supervisor/evidence/gpu"
	"github.com/gangrun/gangrun/supervisor/evidence/procs"
	"github.com/gangrun/gangrun/supervisor/evidence/ras"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/preflight"
	"github.com/gangrun/gangrun/supervisor/process"
)

// How long what is asked about a hang may take.
const (
	askTime = 900 * time.Millisecond // of torch and NCCL together: less than the confirmation
	// headStart is how long NCCL's turn waits for torch's answer at most: asking NCCL has crashed jobs, and torch answers at
	// once or not at all.
	headStart = 200 * time.Millisecond
	gpuTime   = 5 * time.Second

	mostAsked = 64 // ranks
)

// answers is what was asked of others when a hang was suspected, beside /proc.
type answers struct {
	nccl *ras.Answer // nil: it was not asked, or did not answer
	says string      // of it, or why it says nothing; empty: it was not asked
	// unasked is why NCCL was not asked, although it is there; nil: it was, or is not.
	unasked error
	gpus    <-chan string
	// torch is what torch's flight recorder has, by rank.
	torch map[int]flight.Record
	// unread is why a file that torch's watchdog has written could not be read; nil: there was none, or all were.
	unread error
}

// ask asks torch and, if acts is set, NCCL and nvidia-smi: without it the job may well continue. They are not asked one after
// the other, so that one that does not answer costs its own time only.
func (s *Supervisor) ask(dirs []string, acts bool, env []string, pids []int, deadline time.Time) (a answers) {
	torch := make(chan map[int]flight.Record, 1)
	crash.Go(func() { torch <- askTorch(dirs, deadline) })
	if !acts {
		a.torch = <-torch
		return a
	}
	gpus := s.askGPUs()
	var records map[int]flight.Record
	select {
	case records = <-torch:
	case <-time.After(headStart):
	}
	a = askNCCL(env, pids, deadline)
	a.gpus = gpus
	if a.torch = records; records == nil {
		a.torch = <-torch
	}
	return a
}

// askTorch asks the ranks that listen, all at the same time.
func askTorch(dirs []string, deadline time.Time) map[int]flight.Record {
	type one struct {
		rank   int
		record flight.Record
		err    error
	}
	var sockets []flight.Socket
	for _, dir := range dirs {
		sockets = append(sockets, flight.Sockets(dir)...)
	}
	sockets = sockets[:min(len(sockets), mostAsked)]
	results := make(chan one, len(sockets))
	for _, s := range sockets {
		crash.Go(func() {
			r, err := flight.Ask(s.Path, deadline)
			results <- one{s.Rank, r, err}
		})
	}
	records := map[int]flight.Record{}
	for range sockets {
		if r := <-results; r.err == nil { // else it has ended, or is stopped, which /proc tells
			records[r.rank] = r.record
		}
	}
	return records
}

// askNCCL asks NCCL once how far the ranks have come, if a worker has loaded it, and only if the listeners are our
// workers: asking has crashed jobs, and on a machine with several jobs another one's may listen there.
func askNCCL(env []string, pids []int, deadline time.Time) (a answers) {
	if environ.Get(env, "NCCL_RAS_ENABLE") == "0" {
		return a
	}
	table, err := procs.Read()
	if err != nil {
		return a
	}
	loaded := false
	for _, pid := range pids {
		loaded = loaded || pid != 0 && table.Maps(pid, "libnccl")
	}
	if !loaded {
		return a
	}
	address, err := listening(table, cmp.Or(environ.Get(env, "NCCL_RAS_ADDR"), ras.DefaultAddress), pids)
	if err != nil {
		a.unasked = err
		return a
	}
	answer, err := ras.Ask(address, deadline)
	if err != nil {
		a.says = fmt.Sprintf("NCCL's RAS at %s: %v\n%s", address, err, answer.Text)
		return a
	}
	a.nccl, a.says = &answer, string(answer.Text)
	return a
}

// listening is where the workers listen on the port of an address. It is an error if nothing listens there, or another
// process does: NCCL lets several processes share the port, and any of them may accept a connection.
func listening(table procs.Table, address string, pids []int) (string, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", err
	}
	listeners, err := table.Listeners(uint16(number))
	if err != nil {
		return "", err
	}
	if len(listeners) == 0 {
		return "", fmt.Errorf("nothing listens on port %d", number)
	}
	strange := listeners
	for _, pid := range pids {
		if pid != 0 && len(strange) > 0 {
			ours := table.Sockets(pid, mostProcesses)
			strange = slices.DeleteFunc(slices.Clone(strange), func(l procs.Listener) bool { return ours[l.Inode] })
		}
	}
	if len(strange) > 0 {
		return "", fmt.Errorf("what listens at %v is no process of the workers, or may not be inspected: "+
			"each job of a machine needs an NCCL_RAS_ADDR of its own", strange[0].Address)
	}
	at := listeners[0].Address
	switch ip := at.Addr(); {
	case ip == netip.IPv4Unspecified():
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	case ip.IsUnspecified():
		at = netip.AddrPortFrom(netip.IPv6Loopback(), at.Port())
	}
	return at.String(), nil
}

// joined is how far the ranks have come among all ranks of the job: by torch's numbers if it has all ranks, else by NCCL's
// if that has all, since the two cannot be compared. Otherwise it is nil.
func (a answers) joined(world int, ranks []int) []*hang.Collectives {
	if all := a.torchJoined(ranks); all != nil || a.nccl == nil {
		return all
	}
	for _, c := range a.nccl.Communicators {
		if c.Size != world {
			continue
		}
		if all := ncclJoined(c, ranks); all != nil {
			return all
		}
	}
	return nil
}

func (a answers) torchJoined(ranks []int) (all []*hang.Collectives) {
	for _, rank := range ranks {
		g, found := a.torch[rank].World()
		if !found || g.Enqueued < 0 {
			return nil
		}
		all = append(all, &hang.Collectives{Joined: g.Enqueued, Completed: &g.Completed})
	}
	return all
}

// groups puts the process groups of each rank into its stand, if torch tells of all of them.
func (a answers) groups(stands []hang.Stand, ranks []int) {
	for _, rank := range ranks {
		if _, found := a.torch[rank]; !found {
			return
		}
	}
	for i, rank := range ranks {
		r := a.torch[rank]
		stands[i].Pairs = r.Receives()
		for _, name := range slices.Sorted(maps.Keys(r.Groups)) {
			g := r.Groups[name]
			if g.Enqueued < 0 {
				continue
			}
			in := hang.Group{Name: g.Name, What: "process group " + g.Name, Joined: g.Enqueued, Completed: g.Completed}
			if d := g.Description; d != "" && d != "undefined" {
				in.What += " (" + d + ")"
			}
			if call, pending := r.Pending(g.Name); pending {
				in.Call = call.String()
				if call.Number == g.Completed+1 {
					in.Terms = call.Terms()
				}
			}
			in.Whole = len(g.Members) > 0 && !slices.ContainsFunc(g.Members, func(m int) bool { return !slices.Contains(ranks, m) })
			stands[i].Groups = append(stands[i].Groups, in)
		}
	}
}

func ncclJoined(c ras.Communicator, ranks []int) (all []*hang.Collectives) {
	for _, rank := range ranks {
		i := slices.IndexFunc(c.Ranks, func(r ras.Rank) bool { return r.Rank == rank && len(r.Counts) > 0 })
		if i < 0 {
			return nil
		}
		all = append(all, &hang.Collectives{Joined: c.Ranks[i].Collectives()})
	}
	return all
}

// world is the number of ranks in the worker's environment; 0 if it is not there.
func (w *worker) world() int {
	n, _ := strconv.Atoi(environ.Get(w.env, "WORLD_SIZE"))
	return n
}

// askGPUs asks nvidia-smi about the GPUs, if it is there. The answer comes within gpuTime: one that takes longer is stuck,
// as its driver is then, and that is the answer.
func (s *Supervisor) askGPUs() <-chan string {
	answer := make(chan string, 1)
	s.beside(func() func() {
		answer <- s.gpus()
		return func() {}
	})
	return answer
}

func (s *Supervisor) gpus() string {
	path, err := task.Within(time.Second, func() (string, error) {
		return process.Find(gpu.Command, "/", os.Getenv("PATH"))
	}, nil)
	var out preflight.Output
	if err == nil {
		out = s.children.run([]string{path, "-q", "-x"}, os.Environ(), "/", gpuTime)
	} else { // a directory of PATH that does not answer says nothing of the driver
		out = unstarted(err, 0)
		out.Err = err
	}
	text := string(out.Text[:min(len(out.Text), gpu.Most)])
	switch {
	case out.Absent:
		return ""
	case out.Err != nil:
		s.log.Debug("the GPUs are not asked about the hang: "+gpu.Command+" could not be started", "err", out.Err)
		return ""
	case out.Late > 0:
		return fmt.Sprintf("%s did not answer within %v, as where the driver is stuck\n%s", gpu.Command, gpuTime, text)
	}
	return text
}

// files are the answers as files of evidence, and what they say, as the end of a sentence.
func (a answers) files(until time.Time) (files []evidenceFile, says string) {
	for rank, r := range a.torch {
		form := "json"
		if r.Pickled {
			form = "pickle"
		}
		files = append(files, evidenceFile{fmt.Sprintf("rank%d-flight.%s", rank, form), string(r.Text)})
	}
	if a.says != "" {
		files = append(files, evidenceFile{"nccl-ras.txt", a.says})
	}
	if a.gpus == nil {
		return files, ""
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	text := ""
	select {
	case text = <-a.gpus:
	case <-timer.C:
		text = "no answer in time"
	}
	if text == "" {
		return files, ""
	}
	if sick := gpu.Sick(text); len(sick) > 0 {
		says = "; " + strings.Join(sick[:min(len(sick), 4)], ", ")
	} else if !strings.HasPrefix(strings.TrimSpace(text), "<") {
		line, _, _ := strings.Cut(text, "\n")
		says = "; " + line
	}
	return append(files, evidenceFile{"nvidia-smi.txt", text}), says
}
