package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience is when a program that was to do something is given up.
const patience = time.Minute

// told is what a probe says: when its first instruction ran, and its process ID.
type told struct {
	at  time.Duration // CLOCK_MONOTONIC
	pid int
}

const recordSize = 24

func readRecord(r io.Reader) (told, error) {
	var record [recordSize]byte
	if _, err := io.ReadFull(r, record[:]); err != nil {
		return told{}, fmt.Errorf("no word from the probe: %w", err)
	}
	field := func(i int) int64 { return int64(binary.NativeEndian.Uint64(record[8*i:])) }
	return told{time.Duration(field(0))*time.Second + time.Duration(field(1)), int(field(2))}, nil
}

// clock is CLOCK_MONOTONIC, by which a probe tells the time too.
func clock() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // every kernel has it
	return time.Duration(now.Nano())
}

// namespaced makes the program PID 1 of a new PID namespace.
var namespaced = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}

// subject is a running program with a probe below it.
type subject struct {
	name    string
	cmd     *exec.Cmd
	said    *os.File
	probes  []int         // their process IDs, as they told them
	started time.Duration // just before the fork
}

// begin starts p with the worker below it. The worker's standard output is the subject's.
func begin(p program, worker []string, attr *syscall.SysProcAttr) (*subject, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	argv := append(p.argv[:len(p.argv):len(p.argv)], worker...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.SysProcAttr = environment(), w, attr
	s := &subject{name: p.name, cmd: cmd, said: r, started: clock()}
	if err := cmd.Start(); err != nil {
		r.Close()
		return nil, err
	}
	return s, nil
}

// listen waits for the word of the next probe.
func (s *subject) listen() (told, error) {
	if err := s.said.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return told{}, err
	}
	word, err := readRecord(s.said)
	if err == nil {
		s.probes = append(s.probes, word.pid)
	}
	return word, err
}

// end waits until the program has ended by itself.
func (s *subject) end() error {
	defer s.said.Close()
	return s.cmd.Wait()
}

// stop ends the program and what is below it.
func (s *subject) stop() {
	defer s.said.Close()
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	kill := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	_ = s.cmd.Wait() // how it ends after a signal is its own affair
	s.killLeft()
}

// killLeft kills the probes that wait although the program that started them has ended, and says so.
func (s *subject) killLeft() {
	_ = s.said.SetReadDeadline(time.Now().Add(10 * time.Millisecond)) // every pipe can have one
	for {
		word, err := readRecord(s.said)
		if err != nil {
			break
		}
		s.probes = append(s.probes, word.pid)
	}
	for _, pid := range s.probes {
		line := fmt.Sprintf("/proc/%d/cmdline", pid)
		for until := time.Now().Add(time.Second); waits(line); time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				fmt.Fprintf(os.Stderr, "%s left its worker %d behind, which is killed\n", s.name, pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}

// waits reports whether that is the command line of a probe that waits until it is killed.
func waits(cmdline string) bool {
	line, _ := os.ReadFile(cmdline) // empty where the process has ended
	return bytes.Contains(line, []byte("/probe\x00"))
}

// usage waits until cmd has ended, which it leaves to be waited for, and returns the processor time of that process
// alone, without its children, to a hundredth of a second.
func usage(cmd *exec.Cmd) (time.Duration, error) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return 0, os.NewSyscallError("waitid", err)
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// proc_pid_stat(5): utime and stime are the 12th and 13th after the name, in ticks of which Linux shows 100 a second.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
