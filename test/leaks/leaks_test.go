// Package leaks_test restarts workers many times, and wants nothing of gangrun to grow: descriptors, threads, memory,
// children that nobody reaps, keys in the store. Goroutines cannot be counted from outside, and show as memory: each
// has a stack of 2 KiB at least.
package leaks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

func TestMain(m *testing.M) {
	etcdserver.Main()
	harness.ClearEnvironment()
	os.Exit(m.Run())
}

// use is what a process has.
type use struct {
	descriptors, threads, zombies int
	memory                        int // KiB that are its own
}

func (u use) String() string {
	return fmt.Sprintf("%d descriptors, %d threads, %d zombies, %d KiB of its own", u.descriptors, u.threads, u.zombies, u.memory)
}

func look(t *testing.T, pid int) (u use) {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	u.descriptors = len(fds)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	u.threads, u.memory = field(t, status, "Threads"), field(t, status, "RssAnon")
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, _ := os.ReadFile(file)
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 && fields[0] == "Z" && fields[1] == strconv.Itoa(pid) {
			u.zombies++
		}
	}
	return u
}

// settled looks until there is no more than before, for so long as a busy machine may take to close what the last restart needed:
// the worker says that it runs while gangrun is still at that. What leaks does not go away.
func settled(t *testing.T, pid int, before []use) (u use) {
	t.Helper()
	for range 200 {
		u = look(t, pid)
		if len(before) == 0 || !u.moreThan(before[0]) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return u
}

// moreThan reports whether there is more than so many restarts may bring.
func (u use) moreThan(before use) bool {
	return u.descriptors > before.descriptors+2 || u.threads > before.threads+8 || u.zombies > 1
}

func field(t *testing.T, status []byte, name string) int {
	t.Helper()
	match := regexp.MustCompile(name + `:\s+(\d+)`).FindSubmatch(status)
	if match == nil {
		t.Fatalf("no %s in %s", name, status)
	}
	n, _ := strconv.Atoi(string(match[1]))
	return n
}

// flat ends the test unless what there is after many restarts is what there was before. each is how many lie between:
// less than a goroutine's stack may have come with each of many; a few MiB are the garbage collector's own.
func flat(t *testing.T, who string, before, after use, between int) {
	t.Helper()
	t.Logf("%s: %v; %d restarts later: %v", who, before, between, after)
	if after.moreThan(before) {
		t.Errorf("%s: it grows", who)
	}
	if most := max(4<<10, between); after.memory-before.memory > most {
		t.Errorf("%s: %d KiB more, want %d at most", who, after.memory-before.memory, most)
	}
}

// worker fails until the last round; in the first and the last round that the test measures, it waits until that is
// done.
const worker = `r=$GANGRUN_ROUND
case $r in FIRST|LAST) : >DIR/at-NODE-$r; until [ -e DIR/go-$r ]; do sleep 0.05; done;; esac
[ $r -ge LAST ] && exit 0
FAIL`

func command(dir, node, fail string, first, last int) []string {
	return harness.Shell(strings.NewReplacer("FIRST", fmt.Sprint(first), "LAST", fmt.Sprint(last), "DIR", dir, "NODE", node,
		"FAIL", fail).Replace(worker))
}

// count is how many restarts there are, and how many of them come before the first look.
func count(sample, all int) (first, last int) {
	last = sample
	if os.Getenv("GANGRUN_TEST_LONG") != "" {
		last = all
	}
	return last / 4, last
}

func wait(t *testing.T, file string, limit time.Duration) {
	t.Helper()
	harness.Eventually(t, limit, file, func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
}

func release(t *testing.T, dir string, round int) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("%s/go-%d", dir, round), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

var forEver = []string{"--max-restarts", "1000000", "--max-same-failure", "0", "--restart-backoff", "1us:1us"}

// TestLocalRestarts kills the worker of one node again and again.
func TestLocalRestarts(t *testing.T) {
	first, last := count(400, 10_000)
	const limit = 30 * time.Minute
	dir := t.TempDir()
	job := harness.Job{Flags: append([]string{"--quiet", "--events", filepath.Join(dir, "events")}, forEver...),
		Worker: command(dir, "n", "kill -9 $$", first, last)}.Start(t, limit)
	var uses []use
	for _, round := range []int{first, last} {
		wait(t, fmt.Sprintf("%s/at-n-%d", dir, round), limit)
		uses = append(uses, settled(t, job.PID(), uses))
		release(t, dir, round)
	}
	flat(t, "gangrun", uses[0], uses[1], last-first)
	if e := job.End(); e.Code != 0 || *e.Round != last {
		t.Errorf("%s\n%s", e.Raw, e.Stderr)
	}
}

// TestRounds does the same with two nodes over an etcd.
func TestRounds(t *testing.T) {
	first, last := count(60, 1_000)
	const limit = 30 * time.Minute
	dir := t.TempDir()
	c := etcdserver.StartFor(t, "127.0.0.1", 1, nil)
	fails := map[string]string{"n0": "kill -9 $$", "n1": "exec sleep 1000"}
	nodes := c.TwoNodes(t, "leaks", limit, func(node string) harness.Job {
		return harness.Job{Flags: append([]string{"--quiet"}, forEver...), Worker: command(dir, node, fails[node], first, last)}
	})
	uses := map[string][]use{}
	var keys, bytes []int
	for _, round := range []int{first, last} {
		for node, n := range nodes {
			wait(t, fmt.Sprintf("%s/at-%s-%d", dir, node, round), limit)
			uses[node] = append(uses[node], settled(t, n.PID(), uses[node]))
		}
		records, size := c.Records(t), 0
		for key, value := range records {
			size += len(key) + len(value)
		}
		keys, bytes = append(keys, len(records)), append(bytes, size)
		release(t, dir, round)
	}
	for node := range nodes {
		flat(t, node, uses[node][0], uses[node][1], last-first)
	}
	t.Logf("keys %d, bytes %d", keys, bytes)
	if keys[1] > keys[0]+1 || bytes[1] > bytes[0]*3/2 {
		t.Errorf("the store grows: keys %d, bytes %d", keys, bytes)
	}
	for node, n := range nodes {
		if e := n.End(); e.Code != 0 || *e.Round != last {
			t.Errorf("%s: %s\n%s", node, e.Raw, e.Stderr)
		}
	}
}
