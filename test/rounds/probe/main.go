// Command probe is a worker that a test plays with: it tells the test where it stands in its round, looks whether a
// worker of another round is still alive, and then does what the test says.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Hello is what the probe says first. The test has the same type.
type Hello struct {
	Job, Node, Round  string
	PID               int
	Rank, NodeRank    string
	WorldSize         string
	Addr, Port        string
	RestartCount      string
	Bound             string // why the master's port cannot be bound; only of rank 0
	At                int64  // CLOCK_BOOTTIME, in nanoseconds
	Beside            []string
	RdzvID, RdzvPoint string
	Decision, Step    string // what to resume from
	Path              string
	Args              []string // after the test's own
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(99)
	}
}

func run(dir string) error {
	h := Hello{
		Job: os.Getenv("GANGRUN_JOB_NAME"), Node: os.Getenv("GANGRUN_NODE_NAME"), Round: os.Getenv("GANGRUN_ROUND"),
		PID: os.Getpid(), Rank: os.Getenv("RANK"), NodeRank: os.Getenv("PET_NODE_RANK"), WorldSize: os.Getenv("WORLD_SIZE"),
		Addr: os.Getenv("MASTER_ADDR"), Port: os.Getenv("MASTER_PORT"), RestartCount: os.Getenv("TORCHELASTIC_RESTART_COUNT"),
		RdzvID: os.Getenv("PET_RDZV_ID"), RdzvPoint: os.Getenv("PET_RDZV_ENDPOINT"),
		Decision: os.Getenv("GANGRUN_RESUME_DECISION"), Step: os.Getenv("GANGRUN_RESUME_STEP"),
		Path: os.Getenv("GANGRUN_RESUME_PATH"), Args: os.Args[2:],
	}
	if h.Rank == "" {
		h.Rank, h.WorldSize = h.NodeRank, os.Getenv("PET_NNODES")
	}
	if h.Rank == "0" && h.Port != "" { // as a process group's store would
		if l, err := net.Listen("tcp", ":"+h.Port); err != nil {
			h.Bound = err.Error()
		} else {
			defer l.Close()
		}
	}
	var err error
	if h.Beside, err = sign(dir+"/workers", h.Round); err != nil {
		return err
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return err
	}
	h.At = now.Nano()
	test, err := net.Dial("unix", dir+"/test")
	if err != nil {
		return err
	}
	if err := json.NewEncoder(test).Encode(h); err != nil {
		return err
	}
	obey(test)
	return nil
}

// sign writes down that this process is a worker of the round, and then returns those of other rounds that are alive.
// Of two workers at least the one that has signed later sees the other.
func sign(file, round string) (beside []string, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, round, os.Getpid(), born(os.Getpid())); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(content)) {
		var other string
		var pid int
		var start string
		if _, err := fmt.Sscan(line, &other, &pid, &start); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if other != round && born(pid) == start {
			beside = append(beside, fmt.Sprintf("process %d of round %s is alive beside round %s", pid, other, round))
		}
	}
	return beside, nil
}

// born is when a process was started, in ticks since the boot; "gone" if there is none or it is a zombie.
func born(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "gone"
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "gone"
	}
	return fields[19]
}

// obey does what the test says, line by line, until it says how to end. It ends when the test does.
func obey(test net.Conn) {
	lines := bufio.NewScanner(test)
	for lines.Scan() {
		verb, arg, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "exit":
			code, _ := strconv.Atoi(arg)
			os.Exit(code)
		case "say":
			fmt.Println(arg)
		case "kill":
			n, _ := strconv.Atoi(arg)
			_ = syscall.Kill(os.Getpid(), syscall.Signal(n))
		case "step": // as a training script reports it
			if err := notify("X_GANGRUN_STEP=" + arg); err != nil {
				fmt.Fprintln(os.Stderr, "probe:", err)
				os.Exit(99)
			}
		case "defy": // every stop but SIGKILL
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
			fmt.Fprintln(test, "defying")
		}
	}
}

// notify sends a message of the sd_notify protocol.
func notify(message string) error {
	conn, err := net.Dial("unixgram", os.Getenv("NOTIFY_SOCKET"))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(message))
	return err
}
