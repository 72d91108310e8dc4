package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// orphansWorker, as the first argument, makes this program the worker of that measurement.
const orphansWorker = "orphans-worker"

const (
	orphansEach = 100 // of one probe
	orphansCode = 7   // what the worker ends with
)

// orphans makes ten thousand processes lose their parents to an init that is PID 1, and end all at once. It measures
// the time until the last one is reaped, and looks whether the init still knows how its worker ended.
func (l *lab) orphans() error {
	if os.Geteuid() != 0 {
		return errors.New("needs root, for a PID namespace with its own /proc")
	}
	count := 10_000
	if l.quick {
		count = 1000
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	worker := []string{self, orphansWorker, strconv.Itoa(count)}
	programs := l.inits()
	wall := &table{title: fmt.Sprintf("%d orphans, from the end of the first to the last one reaped, ms", count),
		peers: []string{"tini"}}
	used := &table{title: "the init's own processor time for each, microseconds", peers: []string{"tini"}}
	wall.addPrograms(programs, nil, noBudget)
	used.addPrograms(programs, nil, noBudget)
	for range l.times(7, 1) {
		for i, p := range programs {
			if l.ctx.Err() != nil {
				return l.ctx.Err()
			}
			took, cpu, err := l.orphansUnder(p, worker)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			wall.rows[i].values = append(wall.rows[i].values, milliseconds(took))
			used.rows[i].values = append(used.rows[i].values, cpu.Seconds()*1e6/float64(count))
		}
	}
	wall.print()
	used.print()
	return nil
}

func (l *lab) orphansUnder(p program, worker []string) (took, cpu time.Duration, err error) {
	// The shell becomes the init, once there is a /proc of the new namespace.
	argv := append([]string{"-c", `mount -t proc proc /proc && exec "$@"`, "sh"}, p.argv...)
	cmd := exec.Command("/bin/sh", append(argv, worker...)...)
	var out, complaints bytes.Buffer
	said, w, err := os.Pipe()
	if err != nil {
		return 0, 0, err
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = w, &complaints
	cmd.Env = append(environment(), "BENCH_PROBE="+l.probe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return 0, 0, err
	}
	if _, err = out.ReadFrom(said); err == nil {
		cpu, err = usage(cmd)
	}
	if err != nil {
		_ = cmd.Process.Kill()
	}
	waitErr := cmd.Wait()
	if err != nil {
		return 0, 0, err
	}
	if code := cmd.ProcessState.ExitCode(); code != orphansCode {
		return 0, 0, fmt.Errorf("the worker ended with %d, the init with %v\n%s%s", orphansCode, waitErr, out.Bytes(), complaints.Bytes())
	}
	n, err := strconv.ParseInt(out.String(), 10, 64)
	return time.Duration(n), cpu, err
}

// workOrphans is the worker. It prints the time that it measured, in nanoseconds, and returns its exit code.
func workOrphans(count string) int {
	n, err := strconv.Atoi(count)
	if err == nil {
		var took time.Duration
		if took, err = releaseOrphans(os.Getenv("BENCH_PROBE"), n); err == nil {
			fmt.Print(took.Nanoseconds())
			return orphansCode
		}
	}
	fmt.Fprintln(os.Stderr, "orphans:", err)
	return 1
}

func releaseOrphans(probe string, count int) (time.Duration, error) {
	held, release, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	said, word, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	pids := make([]int, 0, count)
	for len(pids) < count {
		cmd := exec.Command(probe, "orphans", "please")
		cmd.Stdin, cmd.Stdout = held, word
		if err := cmd.Run(); err != nil {
			return 0, fmt.Errorf("after %d orphans: %w", len(pids), err)
		}
		for range orphansEach {
			orphan, err := readRecord(said)
			if err != nil {
				return 0, err
			}
			pids = append(pids, orphan.pid)
		}
	}
	held.Close()
	released := clock()
	release.Close()
	for _, pid := range pids {
		for syscall.Kill(pid, 0) == nil { // until it has been reaped, dead or not
			time.Sleep(100 * time.Microsecond)
		}
	}
	return clock() - released, nil
}
