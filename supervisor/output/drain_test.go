package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A worker is gone and a process that it left behind holds the pipe open.
func TestDrainWithLeftovers(t *testing.T) {
	hold, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer release.Close()
	out := new(screen)
	console := NewConsole(out, ConsoleOptions{})
	path := filepath.Join(t.TempDir(), "log")
	file, err := OpenFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	tail := new(Tail)
	s, w := newStream(t, StreamConfig{Console: console, Prefix: "[p]:", File: file, Tail: tail})
	cmd := exec.Command("sh", "-c", "(cat <&3; echo late) 3<&3 & printf 'error\nlast wor'")
	cmd.Stdout = w
	cmd.ExtraFiles = []*os.File{hold}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	hold.Close()
	w.Close()

	if !s.Drain(soon()) {
		t.Error("not drained")
	}
	select {
	case <-s.Done():
		t.Fatal("done while the pipe is held open")
	default:
	}
	if got := string(tail.Bytes()); got != "error\nlast wor" {
		t.Errorf("tail %q", got)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "error\nlast wor" {
		t.Errorf("file %q, %v", got, err)
	}

	release.Close()
	<-s.Done()
	if !s.Drain(soon()) {
		t.Error("a stream that is done is drained")
	}
	closeInTime(t, console)
	if got, want := out.String(), "[p]:error\n[p]:last worlate\n"; got != want {
		t.Errorf("console %q, want %q", got, want)
	}
}

// Everything that was in the pipe when Drain was called has been read when it returns, at any moment.
func TestDrainMissesNothing(t *testing.T) {
	const rounds = 2000
	tail := new(Tail)
	s, w := newStream(t, StreamConfig{Tail: tail})
	for i := range rounds {
		last := fmt.Sprintf("line %d\n", i)
		fmt.Fprint(w, last)
		if !s.Drain(soon()) {
			t.Fatal("not drained")
		}
		if got := tail.Bytes(); !bytes.HasSuffix(got, []byte(last)) {
			t.Fatalf("round %d: tail %q", i, got[max(0, len(got)-20):])
		}
	}
}

// A process that never stops writing holds neither Drain nor Close up.
func TestDrainOfAnEndlessStream(t *testing.T) {
	s, w := newStream(t, StreamConfig{Tail: new(Tail)})
	ended := make(chan error)
	go func() {
		chunk := bytes.Repeat([]byte("y\n"), 32<<10)
		for {
			if _, err := w.Write(chunk); err != nil {
				ended <- err
				return
			}
		}
	}()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				if !s.Drain(soon()) {
					t.Error("not drained")
				}
			}
		})
	}
	all.Wait()
	s.Close()
	<-s.Done()
	if err := <-ended; !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the writer got %v", err)
	}
}

// sink is a file that calls a function for each write.
type sink func(p []byte)

func (s sink) Write(p []byte) (int, error) {
	s(p)
	return len(p), nil
}

func (s sink) Close() error { return nil }

// The pipe is never empty: what is read is written again. (Whoever writes more in the meantime is the same case.)
func TestDrainIsBounded(t *testing.T) {
	var w *os.File
	again := sink(func(p []byte) {
		if _, err := w.Write(p); err != nil {
			t.Error(err)
		}
	})
	s, w, err := NewStream(StreamConfig{File: NewFile(again, nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Write(make([]byte, 60_000)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if !s.Drain(soon()) {
			t.Error("not drained")
		}
	}
	s.Close()
	<-s.Done()
}

// Close is not forgotten when it comes in the middle of a Drain.
func TestCloseDuringDrain(t *testing.T) {
	read, goOn := make(chan struct{}), make(chan struct{})
	file := NewFile(sink(func([]byte) {
		read <- struct{}{}
		<-goOn
	}), nil)
	s, w, err := NewStream(StreamConfig{File: file})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var all sync.WaitGroup
	// One goes on reading while two ask for a Drain, so that a Drain begins with something in the pipe.
	fmt.Fprint(w, "one")
	<-read
	all.Go(func() { s.Drain(soon()) })
	fmt.Fprint(w, "two")
	for len(s.drains) == 0 {
		runtime.Gosched()
	}
	s.wake()
	goOn <- struct{}{}
	<-read // "two", by the Drain
	s.Close()
	goOn <- struct{}{}
	all.Wait()
	select {
	case <-s.Done():
	case <-time.After(10 * time.Second):
		t.Error("not closed")
	}
}

// A console that is slow bounds Drain, and the stream goes on.
func TestDrainDeadline(t *testing.T) {
	back := make(chan struct{})
	out := &screen{before: func() error { <-back; return nil }}
	console := NewConsole(out, ConsoleOptions{Stall: -1, Limit: 10})
	s, w := newStream(t, StreamConfig{Console: console})
	for range 3 {
		fmt.Fprint(w, "0123456789\n")
		if s.Drain(time.Now().Add(time.Millisecond)) && len(out.writes) > 0 {
			t.Error("drained into a stuck console")
		}
	}
	w.Close()
	close(back)
	<-s.Done()
	closeInTime(t, console)
	if got, want := out.String(), strings.Repeat("0123456789\n", 3); got != want {
		t.Errorf("got %q", got)
	}
}

// Drain and Close from anywhere at any time neither hang nor race.
func TestDrainAndCloseAtOnce(t *testing.T) {
	for range 200 {
		s, w := newStream(t, StreamConfig{Tail: new(Tail)})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if !s.Drain(soon()) {
					t.Error("not drained")
				}
			})
		}
		all.Go(func() { fmt.Fprint(w, "x"); w.Close() })
		all.Go(s.Close)
		all.Wait()
		<-s.Done()
	}
}

// A worker's last words are there for the verdict at once, although nobody reads the console.
func TestDrainDoesNotWaitForTheConsole(t *testing.T) {
	stuck, reader := stuckWriter()
	defer reader()
	console := NewConsole(stuck, ConsoleOptions{Limit: 1 << 10, Stall: time.Hour})
	var tail Tail
	s, w, err := NewStream(StreamConfig{Console: console, Tail: &tail})
	if err != nil {
		t.Fatal(err)
	}
	// More than a pipe and the first piece: when it is all written, the stream waits with the second.
	words := bytes.Repeat([]byte("last words\n"), 15000)
	if _, err := w.Write(words); err != nil {
		t.Fatal(err)
	}
	if !s.Drain(time.Now().Add(30 * time.Second)) {
		t.Fatal("not drained")
	}
	if got := tail.Bytes(); !bytes.HasSuffix(words, got) || len(got) < TailSize-len("last words\n") {
		t.Errorf("%d bytes in the tail, want the last %d", len(got), TailSize)
	}
	w.Close()
}

// stuckWriter takes nothing until release is called.
func stuckWriter() (w io.Writer, release func()) {
	r, pw := io.Pipe()
	return pw, func() { r.Close() }
}
