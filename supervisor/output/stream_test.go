package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// soon is a deadline that no test should reach.
func soon() time.Time {
	return time.Now().Add(time.Minute)
}

func newStream(t *testing.T, config StreamConfig) (*Stream, *os.File) {
	t.Helper()
	s, w, err := NewStream(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		s.Close()
		<-s.Done()
	})
	return s, w
}

func TestExactBytes(t *testing.T) {
	text := someText(rand.New(rand.NewPCG(1, 2)), 10<<20)
	for _, test := range []struct {
		name   string
		prefix string
		lines  bool
		want   []byte
	}{
		{"passed through", "", false, text},
		{"prefix", "[default0]:", false, byTheRules("[default0]:", text)},
		{"lines", "", true, byTheRules("", text)},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := new(screen)
			console := NewConsole(out, ConsoleOptions{Stall: -1})
			path := filepath.Join(t.TempDir(), "log")
			file, err := OpenFile(path, func(err error) { t.Error(err) })
			if err != nil {
				t.Fatal(err)
			}
			tail := new(Tail)
			s, w := newStream(t, StreamConfig{
				Console: console, Prefix: test.prefix, Lines: test.lines, File: file, Tail: tail,
			})
			random := rand.New(rand.NewPCG(1, 3))
			for p := text; len(p) > 0; {
				n := min(random.IntN(1<<random.IntN(22))+1, len(p))
				if _, err := w.Write(p[:n]); err != nil {
					t.Fatal(err)
				}
				p = p[n:]
			}
			w.Close()
			<-s.Done()
			closeInTime(t, console)

			if got := out.shown.Bytes(); !bytes.Equal(got, test.want) {
				t.Errorf("console: %s", difference(got, test.want))
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, text) {
				t.Errorf("file: %s, %v", difference(got, text), err)
			}
			if got := tail.Bytes(); !bytes.HasSuffix(text, got) || len(got) < TailSize/2 {
				t.Errorf("tail: %d bytes: %.40q", len(got), got)
			}
			if err := file.Close(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("file was not closed: %v", err)
			}
		})
	}
}

// A line of 10 MB goes into the file as it is, and to the console in pieces.
func TestLongLine(t *testing.T) {
	line := bytes.Repeat([]byte("0123456789"), 1<<20)
	line = append(line, '\n')
	out := new(screen)
	console := NewConsole(out, ConsoleOptions{Stall: -1})
	s, w := newStream(t, StreamConfig{Console: console, Prefix: "[p]:"})
	if _, err := w.Write(line); err != nil {
		t.Fatal(err)
	}
	w.Close()
	<-s.Done()
	closeInTime(t, console)
	var joined []byte
	pieces := 0
	for piece := range bytes.Lines(out.shown.Bytes()) {
		pieces++
		piece, ok := bytes.CutPrefix(piece, []byte("[p]:"))
		if !ok || len(piece) > maxLine+1 {
			t.Fatalf("a piece of %d bytes: %.20q", len(piece), piece)
		}
		joined = append(joined, bytes.TrimSuffix(piece, []byte("\n"))...)
	}
	if joined = append(joined, '\n'); !bytes.Equal(joined, line) {
		t.Error(difference(joined, line))
	}
	if want := 10<<20/maxLine + 0; pieces != want {
		t.Errorf("%d pieces, want %d", pieces, want)
	}
	if size := cap(s.lines.begun); size > 2*maxLine {
		t.Errorf("%d bytes were held", size)
	}
}

// The lines of eight workers that write them in bits do not mix.
func TestWorkersDoNotMix(t *testing.T) {
	const workers, each = 8, 500
	out := new(screen)
	console := NewConsole(out, ConsoleOptions{Stall: -1, Limit: 20_000})
	var all sync.WaitGroup
	for id := range workers {
		s, w := newStream(t, StreamConfig{Console: console, Prefix: fmt.Sprintf("[w%d]:", id)})
		random := rand.New(rand.NewPCG(uint64(id), 4))
		all.Go(func() {
			var text []byte
			for i := range each {
				text = fmt.Appendf(text, "%d %d %s.\n", id, i, strings.Repeat("x", random.IntN(1000)))
			}
			for len(text) > 0 {
				n := min(random.IntN(300)+1, len(text))
				if _, err := w.Write(text[:n]); err != nil {
					t.Error(err)
					return
				}
				text = text[n:]
			}
			w.Close()
			<-s.Done()
		})
	}
	all.Wait()
	closeInTime(t, console)
	var next [workers]int
	for line := range strings.Lines(out.String()) {
		var prefix, id, i int
		var rest string
		n, err := fmt.Sscanf(line, "[w%d]:%d %d %s\n", &prefix, &id, &i, &rest)
		if n != 4 || err != nil || prefix != id || i != next[id] || strings.Trim(rest, "x") != "." {
			t.Fatalf("line %q: %v", line, err)
		}
		next[id]++
	}
	for id, n := range next {
		if n != each {
			t.Errorf("worker %d: %d lines, want %d", id, n, each)
		}
	}
}

// A worker's unfinished line or update is ended before another's line, and its own end then is not shown twice.
func TestUnfinishedLines(t *testing.T) {
	out := new(screen)
	console := NewConsole(out, ConsoleOptions{})
	a, toA := newStream(t, StreamConfig{Console: console, Prefix: "[a]:"})
	b, toB := newStream(t, StreamConfig{Console: console, Prefix: "[b]:"})
	for _, step := range []struct {
		to   *os.File
		text string
	}{
		{toA, "1%\r"}, {toA, "2%\r"}, {toB, "b1\n"}, {toA, "\n"}, {toA, "3%\r"}, {toA, "\n"},
		{toA, "4%\r"}, {toB, "b2\n"}, {toA, "5"}, {toA, "\n"}, {toA, "last"}, {toB, "b3"},
	} {
		fmt.Fprint(step.to, step.text)
		a.Drain(soon())
		b.Drain(soon())
	}
	toA.Close()
	<-a.Done()
	toB.Close()
	<-b.Done()
	closeInTime(t, console)
	want := "[a]:1%\r[a]:2%\r\n[b]:b1\n[a]:3%\r\n[a]:4%\r\n[b]:b2\n[a]:5\n[a]:last\n[b]:b3"
	if got := out.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// What comes in goes out at once, without waiting for the line's end.
func TestPromptIsShownAtOnce(t *testing.T) {
	for _, test := range []struct {
		prefix, in, want string
	}{
		{"", "(Pdb) ", "(Pdb) "},
		{"[p]:", "50%\r", "[p]:50%\r"},
	} {
		far, near, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		console := NewConsole(near, ConsoleOptions{})
		_, w := newStream(t, StreamConfig{Console: console, Prefix: test.prefix})
		fmt.Fprint(w, test.in)
		got := make([]byte, len(test.want))
		if _, err := io.ReadFull(far, got); err != nil || string(got) != test.want {
			t.Errorf("got %q, %v, want %q", got, err, test.want)
		}
		far.Close()
		near.Close()
	}
}

// A worker gets its end of the pipe in blocking mode, and no other pipe's.
func TestWorkersEndOfThePipe(t *testing.T) {
	out := new(screen)
	console := NewConsole(out, ConsoleOptions{})
	s, w := newStream(t, StreamConfig{Console: console})
	_, other := newStream(t, StreamConfig{})
	pipe := func(f *os.File) string {
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("pipe:[%d]\n", info.Sys().(*syscall.Stat_t).Ino)
	}
	own, others := pipe(w), pipe(other)
	cmd := exec.Command("sh", "-c", "grep flags: /proc/self/fdinfo/1; readlink /proc/$$/fd/*; true")
	cmd.Stdout = w
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	<-s.Done()
	closeInTime(t, console)
	got := out.String()
	var flags int
	if _, err := fmt.Sscanf(got, "flags: %o\n", &flags); err != nil {
		t.Fatalf("got %q: %v", got, err)
	}
	if flags&syscall.O_NONBLOCK != 0 || flags&syscall.O_ACCMODE != syscall.O_WRONLY {
		t.Errorf("flags %#o", flags)
	}
	if n := strings.Count(got, own); n != 1 {
		t.Errorf("%d descriptors of the worker's pipe, want 1: %s", n, got)
	}
	if n := strings.Count(got, others); n != 0 {
		t.Errorf("%d descriptors of another worker's pipe, want 0: %s", n, got)
	}
}

func TestCloseShowsTheUnfinishedLine(t *testing.T) {
	out := new(screen)
	console := NewConsole(out, ConsoleOptions{})
	s, w := newStream(t, StreamConfig{Console: console, Prefix: "[p]:"})
	fmt.Fprint(w, "last words")
	s.Drain(soon())
	s.Close()
	s.Close()
	<-s.Done()
	s.Close()
	closeInTime(t, console)
	if got := out.String(); got != "[p]:last words" {
		t.Errorf("got %q", got)
	}
}

func TestStreamWithoutDescriptors(t *testing.T) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	none := old
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, _, err := NewStream(StreamConfig{})
	if restoreErr := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); restoreErr != nil {
		t.Fatal(restoreErr)
	}
	if !errors.Is(err, syscall.EMFILE) {
		t.Errorf("got %v", err)
	}
}
