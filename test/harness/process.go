package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a program that a test has started, talks to, and sees to its end. It is killed when the test ends.
type Process struct {
	t       testing.TB
	cmd     *exec.Cmd
	limit   time.Duration
	expired *time.Timer
	started time.Time

	mu     sync.Mutex
	grown  *sync.Cond // on output and on the end
	all    []byte     // standard output and error as they came
	stdout bytes.Buffer
	stderr bytes.Buffer
	late   bool // the limit is over
	ended  bool
	took   time.Duration
	result chan struct{} // closed at the end
}

// Start starts argv with env added to the environment. The test fails if it still runs after limit.
func Start(t testing.TB, limit time.Duration, env []string, argv ...string) *Process {
	t.Helper()
	p := &Process{t: t, limit: limit, started: time.Now(), result: make(chan struct{})}
	p.grown = sync.NewCond(&p.mu)
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = part{p, &p.stdout}, part{p, &p.stderr}
	p.cmd.WaitDelay = 5 * time.Second
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.expired = time.AfterFunc(limit, func() {
		p.mu.Lock()
		p.late = true
		p.mu.Unlock()
		p.cmd.Process.Kill()
	})
	go func() {
		p.cmd.Wait()
		p.expired.Stop()
		p.mu.Lock()
		p.ended, p.took = true, time.Since(p.started)
		p.grown.Broadcast()
		p.mu.Unlock()
		close(p.result)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.result
	})
	return p
}

// part takes one of the two outputs of a process.
type part struct {
	p   *Process
	own *bytes.Buffer
}

func (w part) Write(b []byte) (int, error) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.all = append(w.p.all, b...)
	w.p.grown.Broadcast()
	return w.own.Write(b)
}

// Await waits until the process has printed text, on either output; it fails the test if the process ends without it.
func (p *Process) Await(text string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !bytes.Contains(p.all, []byte(text)) {
		if p.ended {
			p.t.Fatalf("it ended (%v) without printing %q:\n%s", p.cmd.ProcessState, text, p.all)
		}
		p.grown.Wait()
	}
}

// Output is what the process has printed so far, on either output.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.all)
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the process; one that has ended gets none.
func (p *Process) Signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// Wait waits for the end.
func (p *Process) Wait() Result {
	p.t.Helper()
	<-p.result
	if p.late {
		p.t.Fatalf("%q still ran after %v:\n%s", p.cmd.Args, p.limit, p.all)
	}
	return Result{Code: Code(p.cmd.ProcessState), Stdout: p.stdout.String(), Stderr: p.stderr.String(), Took: p.took}
}

// Done is closed when the process has ended and all its output is there.
func (p *Process) Done() <-chan struct{} { return p.result }

// Eventually waits for something that nobody announces, such as another process's stop.
func Eventually(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	if err := Until(limit, what, ok); err != nil {
		t.Fatal(err)
	}
}

// Until is the same outside a test: what never comes is an error.
func Until(limit time.Duration, what string, ok func() bool) error {
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("never: %s", what)
		}
	}
	return nil
}
