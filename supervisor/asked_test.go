package supervisor

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/supervisor/evidence/flight"
	"github.com/gangrun/gangrun/supervisor/evidence/gpu"
	"github.com/gangrun/gangrun/supervisor/evidence/procs"
	"github.com/gangrun/gangrun/supervisor/evidence/ras"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/process"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// fakeRAS counts how often it is asked; a stuck one never answers that. If it is theirs the workers hold its socket, too,
// as what they inherit.
func fakeRAS(t *testing.T, stuck, theirs bool) (address string, asked *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if theirs {
		raw, err := l.(*net.TCPListener).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Control(func(fd uintptr) { _, err = unix.FcntlInt(fd, unix.F_SETFD, 0) }); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	asked = &atomic.Int32{}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					switch line := lines.Text(); {
					case stuck:
					case line == "CLIENT PROTOCOL 2":
						io.WriteString(conn, "SERVER PROTOCOL 2\n")
					case line == "STATUS":
						io.WriteString(conn, `{"communicators":[{"size":2,"ranks":[{"rank":0,"pid":1,"collective_counts":{"AllReduce":30}}`+
							"\n"+`{"rank":1,"pid":2,"collective_counts":{"AllReduce":29}}]}]}`)
						return
					default:
						io.WriteString(conn, "OK\n")
					}
				}
			}()
		}
	}()
	return l.Addr().String(), asked
}

// fakeGPUs puts an nvidia-smi into the path that does that.
func fakeGPUs(t *testing.T, does string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+does+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// TestGPUs: an nvidia-smi that is there and cannot be started is told to whoever looks for it; one that runs is among the
// children that are ended with gangrun.
func TestGPUs(t *testing.T) {
	ask := func(s *Supervisor) (string, string) {
		var log bytes.Buffer
		s.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		return s.gpus(), log.String()
	}
	for name, test := range map[string]struct {
		program     string
		mode        os.FileMode
		want, wrong string
	}{
		"answers":       {"#!/bin/sh\necho all well\n", 0o755, "all well\n", ""},
		"fails":         {"#!/bin/sh\necho no driver; exit 9\n", 0o755, "no driver\n", ""},
		"says too much": {"#!/bin/sh\nhead -c 2000000 /dev/zero\n", 0o755, strings.Repeat("\x00", gpu.Most), ""},
		"no process":    {"#!/bin/sh\n", 0o755, "", unix.EAGAIN.Error()},
		"not allowed":   {"#!/bin/sh\n", 0o644, "", "could not be started"},
		"absent":        {"", 0, "", ""},
	} {
		dir := t.TempDir()
		if test.mode != 0 {
			if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(test.program), test.mode); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", dir+":/usr/bin:/bin")
			c := newTestChildren(t)
			if test.wrong == unix.EAGAIN.Error() {
				c.fork = func(process.Spec) (int, error) { return 0, unix.EAGAIN }
			}
			got, log := ask(&Supervisor{children: c})
			if got != test.want || (log == "") != (test.wrong == "") || !strings.Contains(log, test.wrong) {
				t.Errorf("%d bytes, %.99q, %q", len(got), got, log)
			}
		})
	}
	fakeGPUs(t, "sleep 1000")
	c, started := newTestChildren(t), make(chan struct{})
	c.fork = func(spec process.Spec) (int, error) {
		defer close(started)
		return c.reaper.Start(spec)
	}
	crash.Go(func() { <-started; c.stop() })
	if got, log := ask(&Supervisor{children: c}); got != "" || log != "" {
		t.Errorf("ended with gangrun: %q, %q", got, log)
	}
}

// sleepsWithNCCL is a program that sleeps, and has loaded NCCL by what its memory map shows.
func sleepsWithNCCL(t *testing.T) string {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	nccl := filepath.Join(t.TempDir(), "libnccl.so.2")
	if err := os.WriteFile(nccl, program, 0o755); err != nil {
		t.Fatal(err)
	}
	return nccl
}

// TestAsked: where the workers have loaded NCCL it is asked once for each suspicion, and never while steps arrive; one that
// does not answer holds nothing up. So with nvidia-smi.
func TestAsked(t *testing.T) {
	nccl := sleepsWithNCCL(t)
	const gpus = `echo '<gpu id="3B:00"><gpu_recovery_action>Reset</gpu_recovery_action></gpu>'`
	for name, test := range map[string]struct {
		stuck  bool
		theirs bool
		end    string // of each worker
		gpus   string
		asked  int32
		says   string
		not    string
		files  int
	}{
		"answers":       {false, true, nccl + " 60", gpus, 1, "it has joined 29 collectives, the others more; GPU 3B:00 wants Reset", "", 2},
		"are stuck":     {true, true, nccl + " 60", "sleep 60", 1, "no answer in time", "collectives", 2},
		"no NCCL":       {false, true, "sleep 60", "exit 1", 0, "made no progress", "collectives", 0},
		"another job's": {false, false, nccl + " 60", gpus, 0, "made no progress", "collectives", 1},
		"steps arrive":  {false, true, nccl + " 0", gpus, 0, "", "collectives", 0},
	} {
		t.Run(name, func(t *testing.T) {
			address, asked := fakeRAS(t, test.stuck, test.theirs)
			fakeGPUs(t, test.gpus)
			t.Setenv("NCCL_RAS_ADDR", address)
			t.Setenv("WORLD_SIZE", "2")
			dir := t.TempDir()
			steps := "for i in 1 2 3 4 5; do echo step $i; sleep 0.4; done; exec " + test.end
			r := newTrial(t, shell(steps, steps))
			var err error
			if r.cfg.StepLines, err = progress.Custom(`step (\d+)`); err != nil {
				t.Fatal(err)
			}
			r.cfg.Log = slog.New(slog.NewTextHandler(&r.err, &slog.HandlerOptions{Level: slog.LevelDebug}))
			r.cfg.Hang, r.cfg.HangDir = hang.Policy{Timeout: 1500 * time.Millisecond}, func() string { return dir }
			began := time.Now()
			r.run(t)
			if n := asked.Load(); n != test.asked {
				t.Errorf("asked %d times, want %d: %s", n, test.asked, &r.err)
			}
			if m := r.message.Message; !strings.Contains(m, test.says) || test.not != "" && strings.Contains(m, test.not) {
				t.Errorf("%q, want %q and not %q: %s", m, test.says, test.not, &r.err)
			}
			if n := strings.Count(r.err.String(), "is no process of the workers"); !test.theirs && n != 1 || test.theirs && n != 0 {
				t.Errorf("it is said %d times whose it is: %s", n, &r.err)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*", "n[cv]*.txt"))
			if len(files) != test.files {
				t.Errorf("%q, want %d files", files, test.files)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestAskedTogether: neither torch nor NCCL answers, and both together take the time of one.
func TestAskedTogether(t *testing.T) {
	address, asked := fakeRAS(t, true, true)
	cmd := exec.Command(sleepsWithNCCL(t), "60")
	if err := cmd.Start(); err != nil { // it holds the socket of NCCL, as what it inherits
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	dir := t.TempDir()
	torch, err := net.Listen("unix", filepath.Join(dir, fmt.Sprintf("0-%d.sock", cmd.Process.Pid)))
	if err != nil {
		t.Fatal(err)
	}
	defer torch.Close()
	t.Setenv("PATH", "/nowhere") // no nvidia-smi
	s := &Supervisor{inbox: make(chan func(), 1)}
	began := time.Now()
	a := s.ask([]string{dir}, true, []string{"NCCL_RAS_ADDR=" + address}, []int{cmd.Process.Pid}, began.Add(askTime))
	if took := time.Since(began); took < askTime || took > askTime*3/2 {
		t.Errorf("it took %v", took)
	}
	if asked.Load() != 1 || len(a.torch) != 0 || !strings.Contains(a.says, "no answer to CLIENT PROTOCOL") {
		t.Errorf("asked %d times: %+v", asked.Load(), a)
	}
}

// TestListening: all who listen on the port must be processes of the workers, and one of them is asked, wherever the
// address may lead.
func TestListening(t *testing.T) {
	listen := func(address string) *net.TCPListener {
		l, err := net.Listen("tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l.(*net.TCPListener)
	}
	all, one := listen("0.0.0.0:0"), listen("127.0.0.1:0")
	port := func(l *net.TCPListener) string { return fmt.Sprint(l.Addr().(*net.TCPAddr).Port) }
	listen("127.0.0.2:" + port(one))
	file, err := one.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command("sleep", "60")
	cmd.ExtraFiles = []*os.File{file} // of the two that share a port it holds one
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	table, err := procs.Read()
	if err != nil {
		t.Fatal(err)
	}
	self, child := os.Getpid(), cmd.Process.Pid
	for _, test := range []struct {
		address string
		pids    []int
		want    string
		why     string
	}{
		{"localhost:" + port(all), []int{0, self}, "127.0.0.1:" + port(all), ""},
		{"elsewhere.example:" + port(all), []int{self}, "127.0.0.1:" + port(all), ""},
		{"localhost:" + port(all), []int{child}, "", "no process of the workers"},
		{"localhost:" + port(one), []int{child}, "", "what listens at 127.0.0.2:"},
		{"localhost:" + port(all), nil, "", "no process of the workers"},
		{"localhost:1", []int{self}, "", "nothing listens on port 1"},
		{"localhost", []int{self}, "", "missing port"},
		{"localhost:x", []int{self}, "", "invalid syntax"},
	} {
		got, err := listening(table, test.address, test.pids)
		if got != test.want || (err == nil) != (test.why == "") || err != nil && !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s, %v: %q, %v", test.address, test.pids, got, err)
		}
	}
}

// TestJoined: only a communicator of all ranks numbers them as the job does, and the numbers of all have one source.
func TestJoined(t *testing.T) {
	nccl := &ras.Answer{Communicators: []ras.Communicator{
		{Size: 2, Ranks: []ras.Rank{{Rank: 1, Counts: map[string]int64{"AllReduce": 7}}}},
		{Size: 4, Ranks: []ras.Rank{{Rank: 0}, {Rank: 1, Counts: map[string]int64{"AllReduce": 5, "Barrier": 1}}, {Rank: 2, Counts: map[string]int64{"AllReduce": 5}}}},
	}}
	record := func(enqueued, completed int64) flight.Record {
		return flight.Record{Groups: map[string]flight.Group{"0": {Enqueued: enqueued, Completed: completed}}}
	}
	for name, test := range map[string]struct {
		torch map[int]flight.Record
		world int
		ranks []int
		want  string
	}{
		"NCCL's":                    {nil, 4, []int{1, 2}, "6 5"},
		"of rank 0 nothing":         {nil, 4, []int{0, 1}, ""},
		"no such rank":              {nil, 4, []int{1, 3}, ""},
		"no rank":                   {nil, 4, []int{-1}, ""},
		"another world":             {nil, 8, []int{1}, ""},
		"an unknown world":          {nil, 0, []int{1}, ""},
		"torch's":                   {map[int]flight.Record{1: record(9, 8), 2: record(7, 7)}, 4, []int{1, 2}, "9/8 7/7"},
		"torch's of one, NCCL's":    {map[int]flight.Record{1: record(9, 8)}, 4, []int{1, 2}, "6 5"},
		"torch's is unknown":        {map[int]flight.Record{1: record(9, 8), 2: record(-1, -1)}, 4, []int{1, 2}, "6 5"},
		"torch's of one, no NCCL's": {map[int]flight.Record{1: record(9, 8)}, 4, []int{1, 3}, ""},
	} {
		a := answers{nccl: nccl, torch: test.torch}
		var got []string
		for _, c := range a.joined(test.world, test.ranks) {
			text := fmt.Sprint(c.Joined)
			if c.Completed != nil {
				text += fmt.Sprint("/", *c.Completed)
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
