package output

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// How fast lines of 100 bytes go from a worker's pipe to a console (a pipe as well), with a prefix, and into a file; and
// beside it cat, which does no more than copy from a pipe into a file. MB/s is by the clock, with the worker and the
// far end of the console on the same machine; MB/cpu-s is by the processor time of the program in the middle alone.
func BenchmarkPrefixAndFile(b *testing.B) {
	dir := b.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.WriteFile(in, numbered(0, 1<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	const size = 100 << 20
	b.Run("gangrun", func(b *testing.B) {
		far, near, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		near.Fd() // blocking, as standard output is
		reader := exec.Command("sh", "-c", "exec cat >/dev/null")
		reader.Stdin = far
		if err := reader.Start(); err != nil {
			b.Fatal(err)
		}
		far.Close()
		console := NewConsole(near, ConsoleOptions{Stall: -1})
		path := filepath.Join(dir, "gangrun")
		b.SetBytes(size)
		b.ReportAllocs()
		before := processorTime(b)
		for b.Loop() {
			os.Remove(path)
			file, err := OpenFile(path, func(err error) { b.Error(err) })
			if err != nil {
				b.Fatal(err)
			}
			s, w, err := NewStream(StreamConfig{Console: console, Prefix: "[default0]:", File: file, Tail: new(Tail)})
			if err != nil {
				b.Fatal(err)
			}
			worker := exec.Command("cat", in)
			worker.Stdout = w
			if err := worker.Start(); err != nil {
				b.Fatal(err)
			}
			w.Close()
			<-s.Done()
			if err := worker.Wait(); err != nil {
				b.Fatal(err)
			}
		}
		if err := console.Close(time.Now().Add(time.Minute)); err != nil {
			b.Fatal(err)
		}
		used := processorTime(b) - before
		b.ReportMetric(float64(b.N)*size/1e6/used.Seconds(), "MB/cpu-s")
		near.Close()
		if err := reader.Wait(); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("cat", func(b *testing.B) {
		path := filepath.Join(dir, "cat")
		b.SetBytes(size)
		var used time.Duration
		for b.Loop() {
			os.Remove(path)
			r, w, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			file, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			worker, copier := exec.Command("cat", in), exec.Command("cat")
			worker.Stdout = w
			copier.Stdin, copier.Stdout = r, file
			if err := worker.Start(); err != nil {
				b.Fatal(err)
			}
			if err := copier.Start(); err != nil {
				b.Fatal(err)
			}
			r.Close()
			w.Close()
			file.Close()
			if err := worker.Wait(); err != nil {
				b.Fatal(err)
			}
			if err := copier.Wait(); err != nil {
				b.Fatal(err)
			}
			used += copier.ProcessState.UserTime() + copier.ProcessState.SystemTime()
		}
		b.ReportMetric(float64(b.N)*size/1e6/used.Seconds(), "MB/cpu-s")
	})
}

func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// The part that looks at every line.
func BenchmarkLines(b *testing.B) {
	chunk := numbered(0, 640)
	l := lines{prefix: "[default0]:"}
	buf := make([]byte, 0, 3*blockSize)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		for rest := chunk; len(rest) > 0; {
			_, rest = l.format(buf[:0], rest)
		}
	}
}

// What the supervisor pays for each start of a worker.
func BenchmarkNewStream(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		s, w, err := NewStream(StreamConfig{Tail: new(Tail)})
		if err != nil {
			b.Fatal(err)
		}
		w.Close()
		<-s.Done()
	}
}
