package process

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// TestWaited: threads that share processors with more of their kind wait for them.
func TestWaited(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skipf("%v: run the tests on a kernel with CONFIG_SCHED_INFO", err)
	}
	before, known := Waited()
	if !known {
		t.Fatal("it is not known")
	}
	n := 4 * runtime.NumCPU()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	done := make(chan bool)
	end := time.Now().Add(200 * time.Millisecond)
	for range n {
		go func() {
			for time.Now().Before(end) {
			}
			done <- true
		}()
	}
	for range n {
		<-done
	}
	if after, _ := Waited(); after-before < 200*time.Millisecond {
		t.Errorf("%v", after-before)
	}
}
