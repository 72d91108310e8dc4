package kubelet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/oci"
)

// instance is one run of a container: another one after each restart.
type instance struct {
	pod       *Started
	container Container
	id        string
	dir       string // the bundle, and what belongs to it
	log       string // the termination log, outside
	failed    error  // to be prepared

	runc    *exec.Cmd
	first   *os.Process // the container's first process, once it was started
	started time.Time
	done    chan struct{}
}

// instance starts a new instance of the container.
func (p *Started) instance(container int) *instance {
	i := &instance{pod: p, container: p.Pod.Containers[container], done: make(chan struct{})}
	if i.failed = i.prepare(); i.failed != nil {
		p.cluster.t.Error(i.failed)
		close(i.done)
		return i
	}
	i.runc = i.command("run", "--keep", "--pid-file", i.pidFile(), "--bundle", i.dir, i.id)
	i.runc.Stdout, i.runc.Stderr = &p.output, &p.output
	if i.failed = i.runc.Start(); i.failed != nil {
		p.cluster.t.Error(i.failed)
		close(i.done)
		return i
	}
	go func() {
		_ = i.runc.Wait() // how it ended is read from its state
		close(i.done)
	}()
	return i
}

// prepare makes the instance's bundle: its root filesystem and its configuration.
func (i *instance) prepare() (err error) {
	if i.dir, err = os.MkdirTemp("", "kubelet"); err != nil {
		return err
	}
	i.id = filepath.Base(i.dir)
	i.log = filepath.Join(i.dir, "termination-log")
	for _, directory := range []string{"root", "changes", "work"} {
		if err := os.Mkdir(filepath.Join(i.dir, directory), 0o755); err != nil {
			return err
		}
	}
	// What a container changes, and the places for its mounts, are its own.
	layers := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", i.pod.cluster.root, filepath.Join(i.dir, "changes"), filepath.Join(i.dir, "work"))
	if err := unix.Mount("overlay", filepath.Join(i.dir, "root"), "overlay", 0, layers); err != nil {
		return fmt.Errorf("overlay %s: %w", layers, err)
	}
	config, err := i.spec().JSON()
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"config.json": string(config),
		"hosts":       fmt.Sprintf("127.0.0.1\tlocalhost\n%s\t%s\n", i.pod.address, i.pod.Pod.Hostname),
		"resolv.conf": fmt.Sprintf("nameserver %s\nsearch %s\noptions ndots:5\n", i.pod.cluster.Host(), search),
	} {
		if err := os.WriteFile(filepath.Join(i.dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return oci.MakeLog(i.log)
}

func (i *instance) pidFile() string { return filepath.Join(i.dir, "pid") }

func (i *instance) command(args ...string) *exec.Cmd {
	return exec.Command("runc", append([]string{"--root", filepath.Join(i.dir, "state")}, args...)...)
}

// awaitStart waits until the container's first process runs, or has come to its end, and reports whether there was one.
func (i *instance) awaitStart() bool {
	for over := false; ; {
		if raw, err := os.ReadFile(i.pidFile()); err == nil { // it is complete when it is there
			pid, _ := strconv.Atoi(string(raw))
			i.first, _ = os.FindProcess(pid)
			i.started = time.Now()
			return true
		}
		if over {
			return false
		}
		select { // nobody announces the file
		case <-i.done:
			over = true
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// terminate sends SIGTERM to the first process, as container runtimes do.
func (i *instance) terminate() { i.signal(syscall.SIGTERM) }

// kill ends all processes: the first one takes the others of its namespace along.
func (i *instance) kill() { i.signal(syscall.SIGKILL) }

func (i *instance) signal(sig syscall.Signal) {
	select {
	case <-i.done: // its process id may be another's
	default:
		if i.first != nil {
			_ = i.first.Signal(sig) // it may be ending right now
		}
	}
}

// end is how the instance ended. What is left of it is removed.
func (i *instance) end() *Terminated {
	end := &Terminated{StartedAt: i.started, FinishedAt: time.Now()}
	switch {
	case i.failed != nil:
		end.ExitCode, end.Reason, end.Message = 128, "StartError", i.failed.Error()
	case i.first == nil:
		end.ExitCode, end.Reason, end.Message = 128, "StartError", i.pod.Output()
	default:
		raw, err := os.ReadFile(i.log)
		if err != nil {
			i.pod.cluster.t.Error(err)
		}
		end.ExitCode, end.Message = harness.Code(i.runc.ProcessState), message(raw, len(i.pod.Pod.Containers))
		switch {
		case i.outOfMemory():
			end.Reason = "OOMKilled"
		case end.ExitCode != 0:
			end.Reason = "Error"
		default:
			end.Reason = "Completed"
		}
	}
	if i.runc != nil {
		_ = i.command("delete", "--force", i.id).Run() // there may be nothing to delete
	}
	if err := unix.Unmount(filepath.Join(i.dir, "root"), unix.MNT_DETACH); err != nil && i.failed == nil {
		i.pod.cluster.t.Error(err)
	}
	if err := os.RemoveAll(i.dir); err != nil {
		i.pod.cluster.t.Error(err)
	}
	return end
}

// message is what the kubelet makes of a termination log: its last 4096 bytes, and of these the first, as many as are
// left for each container when all of the pod share 12 KiB.
func message(log []byte, containers int) string {
	log = log[max(0, len(log)-4096):]
	return string(log[:min(len(log), 12288/containers)])
}

// outOfMemory reports whether the kernel has killed a process of the container for memory.
func (i *instance) outOfMemory() bool {
	if i.container.Memory == 0 {
		return false
	}
	for _, file := range []string{"/sys/fs/cgroup/memory/" + i.id + "/memory.oom_control", "/sys/fs/cgroup/" + i.id + "/memory.events"} {
		events, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(events)) {
			if name, count, _ := strings.Cut(strings.TrimSpace(line), " "); name == "oom_kill" {
				return count != "0"
			}
		}
	}
	i.pod.cluster.t.Errorf("no memory cgroup of the container %s", i.id)
	return false
}
