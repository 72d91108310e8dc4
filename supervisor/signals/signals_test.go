package signals

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestFlood sends more of one signal than anything keeps, while nobody reads: those after it come all the same.
func TestFlood(t *testing.T) {
	incoming := Listen()
	send := func(sig syscall.Signal) {
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
	}
	for range 2000 {
		send(syscall.SIGUSR1)
		send(syscall.SIGWINCH)
	}
	send(syscall.SIGTERM)
	send(syscall.SIGINT)
	wanted := map[os.Signal]bool{syscall.SIGTERM: true, syscall.SIGINT: true, syscall.SIGUSR1: true, syscall.SIGWINCH: true}
	late := time.After(10 * time.Second)
	for len(wanted) > 0 {
		select {
		case sig := <-incoming:
			delete(wanted, sig)
		case <-late:
			t.Fatalf("lost: %v", wanted)
		}
	}
}

func TestPasses(t *testing.T) {
	for sig, want := range map[syscall.Signal]bool{
		syscall.SIGTERM: true, syscall.SIGKILL: false, syscall.SIGCHLD: false, syscall.SIGURG: false, 32: false, 34: false, 35: true, 64: true, 65: false,
	} {
		if Passes(sig) != want {
			t.Errorf("%d: %v", sig, !want)
		}
	}
}
