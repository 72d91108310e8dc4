package launch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// better is what torchrun gets wrong. Each scenario says what it saw, and whether that is the fault.
var better = []struct {
	name string
	see  func(t *testing.T, l launcher) (saw string, fault bool)
}{
	{"exit code 3", codeOf("exit 3", 3)},
	{"exit code 85", codeOf("exit 85", 85)},
	{"exit code of SIGKILL", codeOf("kill -KILL $$$$", 137)}, // $$ is how torchrun writes a dollar
	{"exit code of SIGTERM", sigterm},
	{"SIGUSR1", sigusr1},
	{"SIGHUP is ignored", nohup},
	{"SIGTERM for the loader", loader},
	{"stubborn worker", stubborn},
	{"orphan of a crashed worker", orphan},
	{"launcher is killed", killed},
	{"port of a restart", sameWord("port", `port (\d+)`)},
	{"keys of the attempt before", sameWord("keys", `attempt 1 finds the key: (True)`)},
	{"rank 10", rank10},
	{"torn line", torn},
	{"log of the round before", joined},
	{"failure on another node", elsewhere},
	{"host name without an address", nowhere},
}

func TestBetterThanTorchrun(t *testing.T) {
	for _, b := range better {
		t.Run(b.name, func(t *testing.T) {
			both(t, func(t *testing.T, l launcher) {
				saw, fault := b.see(t, l)
				t.Log(saw)
				if fault != (l.name == theirs) {
					t.Errorf("the fault shows: %t", fault)
				}
			})
		})
	}
}

// act is a job of one worker that does one of worker.py's acts.
func act(t *testing.T, name string, flags ...string) job {
	return job{flags: flags, script: harness.Script(t, "worker.py"), args: []string{name}}
}

// codeOf is a worker's own way to end, which says whether a restart makes sense. torchrun exits with 1, always.
func codeOf(shell string, want int) func(*testing.T, launcher) (string, bool) {
	return func(t *testing.T, l launcher) (string, bool) {
		res, _ := l.run(t, job{flags: []string{"--no-python"}, script: "/bin/sh", args: []string{"-c", shell}})
		return fmt.Sprintf("exit code %d\n%s", res.Code, res.Stderr), res.Code != want
	}
}

// sigterm: a stop from outside is answered with 143, so that nobody takes it for a failure.
func sigterm(t *testing.T, l launcher) (string, bool) {
	s := l.start(t, act(t, "stop"))
	s.Await("ready")
	s.Signal(syscall.SIGTERM)
	res := s.Wait()
	if !strings.Contains(res.Stdout, "saved") {
		t.Errorf("the worker was not asked to stop:\n%s", res.Stdout)
	}
	return fmt.Sprintf("exit code %d", res.Code), res.Code != 143
}

// sigusr1: SLURM warns with SIGUSR1. torchrun dies of it, and its workers never hear of it.
func sigusr1(t *testing.T, l launcher) (string, bool) {
	s := l.start(t, act(t, "usr1"))
	s.Await("ready")
	s.Signal(syscall.SIGUSR1)
	<-s.ended() // the workers that torchrun leaves behind keep its output open
	harness.KillLeftovers(s.dir)
	res := s.Wait()
	fine := res.Code == 0 && strings.Contains(res.Stdout, "got SIGUSR1")
	return fmt.Sprintf("exit code %d\n%s", res.Code, res.Stdout), !fine
}

// nohup: whoever starts a launcher with SIGHUP ignored wants it to outlive the terminal.
func nohup(t *testing.T, l launcher) (string, bool) {
	l.argv = append([]string{"/bin/sh", "-c", `trap "" HUP; exec "$@"`, "sh"}, l.argv...)
	s := l.start(t, act(t, "errand"))
	s.Await("ready")
	s.Signal(syscall.SIGHUP)
	if err := os.WriteFile(s.dir+"/probe/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	res := s.Wait()
	fine := res.Code == 0 && strings.Contains(res.Stdout, "finished")
	return fmt.Sprintf("exit code %d\n%s\n%s", res.Code, res.Stdout, res.Stderr), !fine
}

// loader: a signal to the whole process group takes a trainer's data loader away just when it wants to finish a step.
func loader(t *testing.T, l launcher) (string, bool) {
	s := l.start(t, act(t, "loader"))
	s.Await("ready")
	s.Signal(syscall.SIGTERM)
	res := s.Wait()
	if !strings.Contains(res.Stdout, "the loader is ") {
		t.Errorf("the worker has not looked:\n%s\n%s", res.Stdout, res.Stderr)
	}
	return res.Stdout, strings.Contains(res.Stdout, "the loader is gone")
}

// stubborn: asked to stop for the third time (an impatient user, an operator that tries again), torchrun exits
// without its workers.
func stubborn(t *testing.T, l launcher) (string, bool) {
	s := l.start(t, act(t, "stubborn", "--shutdown-timeout", "5"))
	s.Await("is ready")
	for gone, asked := s.ended(), 0; ; asked++ {
		s.Signal(syscall.SIGTERM)
		select {
		case <-gone:
			left := harness.Leftovers(s.dir)
			harness.KillLeftovers(s.dir)
			s.Wait()
			return fmt.Sprintf("asked %d times, left: %v", asked, left), len(left) > 0
		case <-time.After(300 * time.Millisecond): // signals that come at once count as one
		}
	}
}

// orphan: what a crashed worker has started goes on under torchrun, and holds the GPU.
func orphan(t *testing.T, l launcher) (string, bool) {
	s := l.start(t, act(t, "orphan"))
	<-s.ended()
	left := harness.Leftovers(s.dir)
	harness.KillLeftovers(s.dir)
	res := s.Wait()
	if !strings.Contains(res.Stdout, "child ") {
		t.Errorf("there was no child:\n%s\n%s", res.Stdout, res.Stderr)
	}
	return fmt.Sprintf("left: %v", left), len(left) > 0
}

// killed: workers whose launcher was killed (the kernel's OOM killer does it) must not continue without it.
func killed(t *testing.T, l launcher) (string, bool) {
	s := l.start(t, act(t, "idle"))
	s.Await("is ready")
	s.Signal(syscall.SIGKILL)
	<-s.ended()
	patience := limit / 2
	if l.name == theirs {
		patience = time.Second // nobody is there who could end them
	}
	left := harness.Leftovers(s.dir)
	for end := time.Now().Add(patience); len(left) > 0 && time.Now().Before(end); left = harness.Leftovers(s.dir) {
		time.Sleep(5 * time.Millisecond)
	}
	harness.KillLeftovers(s.dir)
	s.Wait()
	return fmt.Sprintf("left: %v", left), len(left) > 0
}

// sameWord runs an act that fails once, with one restart. It is a fault if the second attempt meets something of the
// first one: the pattern's group is the same twice, or matches at all where it can match only once.
func sameWord(name, pattern string) func(*testing.T, launcher) (string, bool) {
	return func(t *testing.T, l launcher) (string, bool) {
		res, _ := l.run(t, act(t, name, "--max-restarts", "1"))
		if res.Code != 0 || !strings.Contains(res.Stdout, "attempt 1 ") {
			t.Errorf("exit code %d\n%s\n%s", res.Code, res.Stdout, res.Stderr)
		}
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(res.Stdout, -1)
		return res.Stdout, len(found) > 0 && found[0][1] == found[len(found)-1][1]
	}
}

// rank10: a node may have more than ten ranks.
func rank10(t *testing.T, l launcher) (string, bool) {
	res, dir := l.run(t, job{flags: words("--nproc-per-node 11 --no-python -r 9:0,10:1 --log-dir {dir}/logs"),
		script: "/bin/sh", args: []string{"-c", "echo I am $$LOCAL_RANK"}})
	logs, _ := filepath.Glob(dir + "/logs/*/attempt_0/10/stdout.log")
	if len(logs) != 1 {
		return fmt.Sprintf("exit code %d, logs %q\n%s", res.Code, logs, res.Stderr), true
	}
	text := read(t, logs[0])
	return text, text != "I am 10\n" || res.Code != 0 || strings.Contains(res.Stdout, "I am 10\n")
}

// torn: a line is one line, however long its second half takes.
func torn(t *testing.T, l launcher) (string, bool) {
	res, _ := l.run(t, act(t, "torn", "--tee", "1"))
	return res.Stdout, res.Stdout != "[default0]:first half, second half\n"
}

// joined: a second node joins. That restarts the workers of the first, and torchrun then deletes what they have
// written.
func joined(t *testing.T, l launcher) (string, bool) {
	dir := directory(t)
	endpoint := "localhost:" + freePort(t)
	node := func(name string) *started {
		j := act(t, "grow", "--nnodes", "1:2", "--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint, "--rdzv-id", "grow",
			"--rdzv-conf", "last_call_timeout=1", "--max-restarts", "50", "--tee", "1", "--log-dir", "{dir}/"+name)
		j.env = []string{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"} // without it torchrun's second node never gets in
		return l.startIn(t, dir, j)
	}
	first := node("first")
	first.Await("nodes: 1")
	second := node("second")
	if l.name == ours { // it takes a new node in at the next restart
		if err := os.WriteFile(dir+"/probe/fail", nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []*started{first, second} {
		if res := n.Wait(); res.Code != 0 || !strings.Contains(res.Stdout, "nodes: 2") {
			t.Errorf("exit code %d\n%s\n%s", res.Code, res.Stdout, res.Stderr)
		}
	}
	logs, _ := filepath.Glob(dir + "/first/*/attempt_*/0/stdout.log")
	var all []string
	for _, file := range logs {
		all = append(all, read(t, file))
	}
	return strings.Join(all, "---\n"), !strings.Contains(strings.Join(all, ""), "nodes: 1")
}

// elsewhere: a worker of the second node fails. torchrun's first node goes on, with half a gang.
func elsewhere(t *testing.T, l launcher) (string, bool) {
	dir, master, store := directory(t), freePort(t), freePort(t)
	node := func(rank string) *started {
		j := act(t, "second", "--nnodes", "2", "--node-rank", rank, "--master-port", master)
		if l.name == ours {
			j.env = []string{"GANGRUN_STORE_PORT=" + store}
		}
		return l.startIn(t, dir, j)
	}
	first, second := node("0"), node("1")
	first.Await("is ready")
	if err := os.WriteFile(dir+"/probe/fail", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	<-second.Done()
	patience := limit / 2
	if l.name == theirs {
		patience = 3 * time.Second
	}
	select {
	case <-first.Done():
		codes := []int{first.Wait().Code, second.Wait().Code}
		return fmt.Sprintf("exit codes %v", codes), codes[0] != 3 || codes[1] != 3
	case <-time.After(patience):
		return "the first node goes on", true
	}
}

// nowhere: on one node nobody has to look up the host's name, and where that has no address torchrun waits for minutes.
func nowhere(t *testing.T, l launcher) (string, bool) {
	unshare := []string{harness.Program(t, "unshare", "install util-linux"), "--uts"}
	if os.Geteuid() != 0 {
		unshare = append(unshare, "--user", "--map-root-user")
	}
	if res := harness.Run(t, limit, nil, append(unshare, "hostname", "nowhere.invalid")...); res.Code != 0 {
		harness.Missing(t, "a new UTS namespace", "run the tests as root or allow user namespaces, and install hostname")
	}
	l.argv = append(append(unshare, "/bin/sh", "-c", `hostname nowhere.invalid && exec "$@"`, "sh"), l.argv...)
	j := act(t, "errand", "--standalone")
	dir := directory(t)
	if err := os.MkdirAll(dir+"/probe", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/probe/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := l.startIn(t, dir, j)
	patience := limit / 2
	if l.name == theirs {
		patience = 15 * time.Second
	}
	select {
	case <-s.Done():
		return "it ended", s.Wait().Code != 0
	case <-time.After(patience):
		s.Signal(syscall.SIGKILL)
		harness.KillLeftovers(s.dir)
		out := s.Wait().Stdout
		return out, out == ""
	}
}

// ended is closed when the launcher itself has ended, whoever still holds its output.
func (s *started) ended() <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for alive(s.PID()) {
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return gone
}

// alive says whether there is such a process, and it has not ended.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
