package rounds_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/test/harness"
)

// sickness is a file: as long as it is there, a node finds its machine sick when it looks.
type sickness string

func (s sickness) begin(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(string(s), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s sickness) end(t *testing.T) {
	t.Helper()
	if err := os.Remove(string(s)); err != nil {
		t.Fatal(err)
	}
}

// newest waits until that many workers of the newest round run, and returns them.
func (p *party) newest(after, count int) (list []*worker) {
	p.t.Helper()
	p.until(fmt.Sprintf("%d workers of a round after %d", count, after), func(all []*worker) bool {
		newest := after
		for _, w := range all {
			number, _ := strconv.Atoi(w.Round)
			newest = max(newest, number)
		}
		list = slices.DeleteFunc(slices.Clone(all), func(w *worker) bool { return w.Gone() || w.Round != strconv.Itoa(newest) })
		return newest > after && len(list) == count
	})
	slices.SortFunc(list, func(a, b *worker) int { return a.rank() - b.rank() })
	return list
}

// whole is newest where any node may have come too late for the last call, since the machine stood still: it comes with
// another restart.
func (p *party) whole(after, count int) []*worker {
	p.t.Helper()
	for {
		size, number := 0, after
		p.until(fmt.Sprintf("a round after %d", after), func(all []*worker) bool {
			there := 0
			for _, w := range all {
				n, _ := strconv.Atoi(w.Round)
				if n > number {
					number, there = n, 0
				}
				if n == number && n > after && !w.Gone() {
					there++
					size, _ = strconv.Atoi(w.WorldSize)
				}
			}
			return there > 0 && there == size
		})
		if size == count {
			return p.newest(after, count)
		}
		p.takes("restart")
		after = number
	}
}

// hostsOf are the hosts with faults, as gangrun status tells programs.
func (p *party) hostsOf() map[string]rendezvous.HostState {
	p.t.Helper()
	res := remote(p.t, "status", "-o", "json", jobName(p.t))
	var s struct {
		Hosts map[string]rendezvous.HostState
	}
	if err := json.Unmarshal([]byte(res.Stdout), &s); err != nil || res.Code != 0 {
		p.fatalf("status: %d, %v\n%s%s", res.Code, err, res.Stdout, res.Stderr)
	}
	return s.Hosts
}

// TestSickHostIsBanned is five gangruns, four of which suffice, one on a machine that falls sick again and again. After the
// third time it waits, and the job continues with the others until somebody lifts the ban.
func TestSickHostIsBanned(t *testing.T) {
	harness.Costly(t)
	t.Parallel()
	p := sharedParty(t, "4:5", append(quickFence, "--last-call", "500ms", "--max-restarts", "50", "--restart-backoff", "400ms:400ms")...)
	sick := sickness(filepath.Join(t.TempDir(), "sick"))
	start := func() *node {
		return p.start("sick", "--host", "gpu-7", "--preflight", "--preflight-command", "test ! -e "+string(sick))
	}
	back := start()
	back.Await("the job waits") // the others do not wait for its look at the machine
	var others []*node
	for _, name := range []string{"a", "b", "c", "d"} {
		others = append(others, p.start(name, "--host", "gpu-"+name))
	}
	workers := p.whole(-1, 5)
	of(workers, "a").Do("kill 9") // the first failure is no reason to look
	number := func() int { n, _ := strconv.Atoi(workers[0].Round); return n }
	workers = p.whole(number(), 5)
	for fault := 1; ; fault++ {
		sick.begin(t)
		of(workers, "a").Do("kill 9")
		p.all([]*node{back}, unhealthy)
		workers = p.newest(number(), 4)
		if h := p.hostsOf()["gpu-7"]; h.Score != float64(fault) || len(h.Faults) != fault || h.Banned != (fault == 3) {
			p.fatalf("after %d faults: %+v", fault, h)
		}
		sick.end(t)
		if back = start(); fault == 3 {
			break
		}
		back.Await("runs without this node")
		p.takes("restart")
		workers = p.whole(number(), 5)
	}
	back.Await("host gpu-7 is banned until ")
	if res := remote(t, "status", jobName(t)); !strings.Contains(res.Stdout, "\nbanned: host gpu-7 until ") ||
		strings.Count(res.Stdout, "ago: NodeUnhealthy of sick in round ") != 3 {
		t.Errorf("status:\n%s%s", res.Stdout, res.Stderr)
	}
	p.takes("restart")
	workers = p.newest(number(), 4)
	if slices.Contains(names(workers), "sick") {
		t.Error("the banned host takes part")
	}
	for _, says := range []struct{ host, want string }{
		{"gpu-70", "unban: gpu-70 is not banned and has no recorded fault; hosts with faults: gpu-7\n"},
		{"sick", "unban: gpu-7 may take part again from the next round on\n"}, // by the name of its node
		{"gpu-7", "unban: gpu-7 is not banned and has no recorded fault; no other host has one either\n"},
	} {
		if res := remote(t, "unban", jobName(t), says.host); res.Code != 0 || res.Stdout != says.want || res.Stderr != "" {
			t.Errorf("unban %s: %d, %q, %q; want %q", says.host, res.Code, res.Stdout, res.Stderr, says.want)
		}
	}
	p.takes("restart")
	workers = p.whole(number(), 5)
	if of(workers, "sick") == nil {
		t.Error("it does not take part")
	}
	finish(workers)
	p.all(append(others, back), succeeded)
}

// TestUnbanInVain has no job, no store, and not enough said.
func TestUnbanInVain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no such job", []string{"no-such-job", "gpu-7"}, 66, "no record of this job"},
		{"no store", []string{"--store", "http://127.0.0.1:9", "--timeout", "3s", "a", "gpu-7"}, 69, "cannot be reached"},
		{"no host", []string{"my-job"}, 64, "give JOB and HOST"},
		{"nothing", nil, 64, "give JOB and HOST"},
		{"two jobs", []string{"a", "b", "gpu-7"}, 64, `"b" is one too many`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if res := remote(t, "unban", tt.args...); res.Code != tt.code || res.Stdout != "" || !strings.Contains(res.Stderr, tt.says) {
				t.Errorf("exit code %d, %q, %q; want %d, %q", res.Code, res.Stdout, res.Stderr, tt.code, tt.says)
			}
		})
	}
}

// TestSizesOfRounds is a job of 2 or 4 nodes to which come three, then a fourth; which loses one, and gets another.
func TestSizesOfRounds(t *testing.T) {
	harness.Costly(t)
	t.Parallel()
	p := sharedParty(t, "4,2", slices.Concat(quickFence, patientCall, []string{"--max-restarts", "50"})...)
	nodes := map[string]*node{}
	for _, name := range []string{"a", "b", "c"} {
		nodes[name] = p.start(name)
	}
	first := p.round(0, 2)
	for name, n := range nodes {
		if !strings.Contains(strings.Join(names(first), " "), name) {
			n.Await("round 0 runs without this node, with 2; the next size is 4 (2,4)")
		}
	}
	nodes["d"] = p.start("d")
	nodes["d"].Await("the next size is 4")
	p.takes("restart")
	second := p.round(1, 4)
	lost := second[1].Node
	p.kill(nodes[lost])
	third := p.round(2, 2) // of the three that are left
	delete(nodes, lost)
	nodes["e"] = p.start("e")
	nodes["e"].Await("round 2 runs without this node, with 2")
	third[0].Do("kill 9")
	fourth := p.round(3, 4)
	if fourth[0].Node != second[0].Node {
		t.Errorf("rank 0 is that of %s, and was that of %s", fourth[0].Node, second[0].Node)
	}
	finish(fourth)
	var all []*node
	for _, n := range nodes {
		all = append(all, n)
	}
	p.all(all, succeeded)
}

// TestNodesContradict refuses sizes that say nothing sensible, before anything is started.
func TestNodesContradict(t *testing.T) {
	t.Parallel()
	for nodes, says := range map[string]string{
		"2,2,4": "the size 2 is there twice", "0,2": "0", "2,": "want sizes such as 2,4,8", "2:4,8": "is a range",
		"2,5000": "5000", "2;4": "2;4",
	} {
		began := time.Now()
		res := harness.Run(t, limit, nil, harness.Binary(t), "run", "--nodes", nodes, "--store", "http://127.0.0.1:9", "--job", "j", "--", "true")
		if res.Code != 64 || !strings.Contains(res.Stderr, says) || !strings.Contains(res.Stderr, "--nodes") || time.Since(began) > time.Minute {
			t.Errorf("--nodes %s: %d, %s; want 64 with %q", nodes, res.Code, res.Stderr, says)
		}
	}
}
