package process

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestEndPredecessor(t *testing.T) {
	const entry = "GANGRUN_TEST_MEMBER=job/node of TestEndPredecessor"
	start := func(env ...string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", "trap '' TERM; echo; exec sleep 1000")
		cmd.Env = append(os.Environ(), env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		if _, err := out.Read(make([]byte, 1)); err != nil { // it runs, with its environment
			t.Fatal(err)
		}
		return cmd
	}
	left, other := start(entry), start("GANGRUN_TEST_MEMBER=job/another")

	// It is our child, and we are alive: it is not a predecessor's.
	killed, err := EndPredecessor(t.Context(), entry)
	if err != nil || len(killed) != 0 {
		t.Fatalf("killed %v, %v: what descends from a living one", killed, err)
	}

	// Its parent is dead: started by a shell that ends.
	orphan := exec.Command("setsid", "--fork", "sleep", "1000")
	orphan.Env = append(os.Environ(), entry)
	if err := orphan.Run(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	killed, err = EndPredecessor(ctx, entry)
	if err != nil || len(killed) != 1 {
		t.Errorf("killed %v, %v; want the orphan", killed, err)
	}
	for _, cmd := range []*exec.Cmd{left, other} {
		if d := Look(cmd.Process.Pid); len(d) == 0 || d[0].Dead() {
			t.Errorf("%d is gone, and nobody asked for that", cmd.Process.Pid)
		}
	}
}
