package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// output sends lines of 100 bytes from a worker (cat, from a file in memory) through gangrun to a pipe, and the same
// through cat and tee in its place.
func (l *lab) output() error {
	chunks := 16
	if l.quick {
		chunks = 4 // with less the processor time is mostly that of the start
	}
	dir, err := os.MkdirTemp(memoryDirectory(), "gangrun-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	in, log := filepath.Join(dir, "in"), filepath.Join(dir, "log")
	text := bytes.Repeat([]byte(strings.Repeat("0123456789", 10)[:99]+"\n"), 64<<20/100)
	if err := os.WriteFile(in, text, 0o600); err != nil {
		return err
	}
	worker := append([]string{"cat"}, slices.Repeat([]string{in}, chunks)...)
	size := float64(chunks*len(text)) / 1e6

	var cases []flow
	for _, p := range l.ours {
		cases = append(cases, flow{p.name + ", passed through", append(slices.Clip(p.argv), worker...), nil})
	}
	cases = append(cases, flow{"cat", []string{"cat"}, worker})
	for _, p := range l.oursWith("--log-prefix", "[0]: ", "--log-dir", log) {
		cases = append(cases, flow{p.name + ", prefix and file", append(slices.Clip(p.argv), worker...), nil})
	}
	cases = append(cases, flow{"tee", []string{"tee", log}, worker})

	wall := &table{title: fmt.Sprintf("%.0f MB of output, lines of 100 bytes, MB/s by the clock", size),
		peers: []string{"cat", "tee"}, more: true}
	used := &table{title: "the same, MB for each second of processor time of the program itself",
		peers: []string{"cat", "tee"}, more: true}
	for _, c := range cases {
		wall.add(c.name)
		r := used.add(c.name)
		if strings.HasSuffix(c.name, "prefix and file") {
			r.budget = outputBudget
		}
	}
	for range l.times(5, 1) {
		for i, c := range cases {
			if l.ctx.Err() != nil {
				return l.ctx.Err()
			}
			took, cpu, came, err := c.run()
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if came < int64(size*1e6) {
				return fmt.Errorf("%s: %d bytes came out, %.0f went in", c.name, came, size*1e6)
			}
			if err := os.RemoveAll(log); err != nil {
				return err
			}
			wall.rows[i].values = append(wall.rows[i].values, size/took.Seconds())
			// Less than one tick of the clock by which the kernel tells it is as good as one.
			used.rows[i].values = append(used.rows[i].values, size/max(cpu.Seconds(), 0.01))
		}
	}
	wall.print()
	used.print()
	return nil
}

// memoryDirectory is one whose files do not go to a disk, where there is one with room.
func memoryDirectory() string {
	var st unix.Statfs_t
	if unix.Statfs("/dev/shm", &st) == nil && st.Bavail*uint64(st.Bsize) > 3<<30 {
		return "/dev/shm"
	}
	return ""
}

// flow is a program in the middle of a pipeline. What comes before it is nil when it starts that by itself.
type flow struct {
	name   string
	argv   []string
	before []string
}

// run returns the time from the start to the end of the output, the processor time of the program, and how many bytes
// came out.
func (f flow) run() (took, cpu time.Duration, came int64, err error) {
	cmd := exec.Command(f.argv[0], f.argv[1:]...)
	cmd.Env = environment()
	out, err := blockingPipe()
	if err != nil {
		return 0, 0, 0, err
	}
	defer out.r.Close()
	cmd.Stdout = out.w
	started := clock()
	if f.before != nil {
		source := exec.Command(f.before[0], f.before[1:]...)
		in, err := blockingPipe()
		if err != nil {
			out.w.Close()
			return 0, 0, 0, err
		}
		source.Stdout, cmd.Stdin = in.w, in.r
		defer in.r.Close()
		err = source.Start()
		in.w.Close()
		if err != nil {
			out.w.Close()
			return 0, 0, 0, err
		}
		defer source.Wait() // that it wrote everything shows at the other end
	}
	err = cmd.Start()
	out.w.Close()
	if f.before != nil {
		cmd.Stdin.(io.Closer).Close()
	}
	if err != nil {
		return 0, 0, 0, err
	}
	came, err = discard(out.r)
	took = clock() - started
	cpu, usageErr := usage(cmd)
	if waitErr := cmd.Wait(); waitErr != nil {
		err = waitErr
	}
	if err == nil {
		err = usageErr
	}
	return took, cpu, came, err
}

type pipe struct{ r, w *os.File }

// blockingPipe makes a pipe as a shell does; one of os.Pipe has a reading end that does not block.
func blockingPipe() (pipe, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return pipe{}, os.NewSyscallError("pipe2", err)
	}
	return pipe{os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe")}, nil
}

// discard reads until the end as cheaply as Linux can, without looking at anything: this process should not be what
// is measured.
func discard(r *os.File) (n int64, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	for {
		m, err := unix.Splice(int(r.Fd()), nil, int(null.Fd()), nil, 1<<20, unix.SPLICE_F_MOVE)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, os.NewSyscallError("splice", err)
		case m == 0:
			return n, nil
		}
		n += m
	}
}
