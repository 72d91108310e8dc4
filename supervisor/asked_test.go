package supervisor

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gangrun/gangrun/supervisor/evidence/ras"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// fakeRAS counts how often it is asked; a stuck one never answers that.
func fakeRAS(t *testing.T, stuck bool) (address string, asked *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
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

// TestAsked: where the workers have loaded NCCL it is asked once for each suspicion, and never while steps arrive; one that
// does not answer holds nothing up. So with nvidia-smi.
func TestAsked(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	nccl := filepath.Join(t.TempDir(), "libnccl.so.2") // which its memory map shows
	if err := os.WriteFile(nccl, program, 0o755); err != nil {
		t.Fatal(err)
	}
	const gpus = `echo '<gpu id="3B:00"><gpu_recovery_action>Reset</gpu_recovery_action></gpu>'`
	for name, test := range map[string]struct {
		stuck bool
		end   string // of each worker
		gpus  string
		asked int32
		says  string
		not   string
		files int
	}{
		"answers":      {false, nccl + " 60", gpus, 1, "it has joined 29 collectives, the others more; GPU 3B:00 wants Reset", "", 2},
		"are stuck":    {true, nccl + " 60", "sleep 60", 1, "no answer in time", "collectives", 2},
		"no NCCL":      {false, "sleep 60", "exit 1", 0, "got nowhere", "collectives", 0},
		"steps arrive": {false, nccl + " 0", gpus, 0, "", "collectives", 0},
	} {
		t.Run(name, func(t *testing.T) {
			address, asked := fakeRAS(t, test.stuck)
			fakeGPUs(t, test.gpus)
			t.Setenv("NCCL_RAS_ADDR", address)
			t.Setenv("WORLD_SIZE", "2")
			dir := t.TempDir()
			steps := "for i in 1 2 3 4 5; do echo step $i; sleep 0.4; done; exec " + test.end
			r := newTrial(t, shell(steps, steps))
			if r.cfg.StepLines, err = progress.Custom(`step (\d+)`); err != nil {
				t.Fatal(err)
			}
			r.cfg.Hang, r.cfg.HangDir = hang.Policy{Timeout: 1500 * time.Millisecond}, func() string { return dir }
			began := time.Now()
			r.run(t)
			if n := asked.Load(); n != test.asked {
				t.Errorf("asked %d times, want %d: %s", n, test.asked, &r.err)
			}
			if m := r.message.Message; !strings.Contains(m, test.says) || test.not != "" && strings.Contains(m, test.not) {
				t.Errorf("%q, want %q and not %q: %s", m, test.says, test.not, &r.err)
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

// TestJoined: only a communicator of all ranks numbers them as the job does.
func TestJoined(t *testing.T) {
	a := answers{nccl: &ras.Answer{Communicators: []ras.Communicator{
		{Size: 2, Ranks: []ras.Rank{{Rank: 1, Counts: map[string]int64{"AllReduce": 7}}}},
		{Size: 4, Ranks: []ras.Rank{{Rank: 0}, {Rank: 1, Counts: map[string]int64{"AllReduce": 5, "Barrier": 1}}}},
	}}}
	if n := a.joined(4, 1); n == nil || *n != 6 {
		t.Error(n)
	}
	for _, at := range [][2]int{{4, 0}, {4, 2}, {4, -1}, {8, 1}, {0, 1}} {
		if n := a.joined(at[0], at[1]); n != nil {
			t.Errorf("%v: %d", at, *n)
		}
	}
}
