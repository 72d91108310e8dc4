package evidence

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
)

// KernelLog reads the kernel's log from a moment on. Most containers may not read it; then it is simply empty.
//
// What was read is remembered until Skip, so that it can be asked for more than once.
type KernelLog struct {
	fd    int
	gpus  []string // PCI addresses of the GPUs that this container sees
	xids  []exitcodes.Xid
	kills []exitcodes.Kill
}

const (
	maxRecords    = 10_000 // that are read at once
	maxRemembered = 1_000  // of each kind
)

// OpenKernelLog opens the kernel's log at its end. It returns nil when the log cannot be read.
func OpenKernelLog() *KernelLog {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil {
		unix.Close(fd)
		return nil
	}
	return &KernelLog{fd: fd, gpus: visibleGPUs("/")}
}

// PastXids returns the GPU errors that the kernel's log still has, of the GPUs that this container sees. readable is false
// where the log cannot be read.
func PastXids() (xids []exitcodes.Xid, readable bool) {
	k := OpenKernelLog()
	if k == nil {
		return nil, false
	}
	defer k.Close()
	if _, err := unix.Seek(k.fd, 0, unix.SEEK_SET); err != nil {
		return nil, false
	}
	return k.Xids(), true
}

// Skip goes to the end of the log and forgets what was read: it belongs to an earlier round.
func (k *KernelLog) Skip() {
	if k != nil {
		k.xids, k.kills = nil, nil
		_, _ = unix.Seek(k.fd, 0, unix.SEEK_END) // it worked when the log was opened
	}
}

// Xids returns the GPU errors that were logged since the log was opened or skipped. The log is the whole machine's:
// errors of GPUs which this container does not see, by what the driver shows in /proc, are left out.
func (k *KernelLog) Xids() []exitcodes.Xid {
	if k == nil {
		return nil
	}
	k.read()
	return slices.Clone(k.xids)
}

// Kills returns the processes that were killed for memory since the log was opened or skipped, on the whole machine. Their
// PIDs are the machine's, so only the cgroup's count tells whether they are of this container.
func (k *KernelLog) Kills() []exitcodes.Kill {
	if k == nil {
		return nil
	}
	k.read()
	return slices.Clone(k.kills)
}

func (k *KernelLog) read() {
	record := make([]byte, 8192) // one read is one record; the kernel's bound on a record
	for range maxRecords {
		n, err := unix.Read(k.fd, record)
		if err == unix.EPIPE { // the ring went on while we read: records were lost, the next read goes on
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		k.take(record[:n], sinceBoot())
	}
}

// take remembers what a record tells. uptime is the kernel's clock now.
func (k *KernelLog) take(record []byte, uptime time.Duration) {
	at := recordTime(record, time.Now(), uptime)
	if xid, ok := parseXid(record); ok && k.ours(xid) && len(k.xids) < maxRemembered {
		xid.At = at
		k.xids = append(k.xids, xid)
	}
	if kill, ok := parseKill(record); ok && len(k.kills) < maxRemembered {
		kill.At = at
		k.kills = append(k.kills, kill)
	}
}

// recordTime is when a record of /dev/kmsg was written: "6,1234,987654321,-;text" has microseconds since the boot.
// Source: Documentation/ABI/testing/dev-kmsg.
func recordTime(record []byte, now time.Time, uptime time.Duration) time.Time {
	head, _, _ := bytes.Cut(record, []byte{';'})
	fields := bytes.Split(head, []byte{','})
	if len(fields) < 3 {
		return time.Time{}
	}
	micros, err := strconv.ParseInt(string(fields[2]), 10, 53)
	if err != nil || micros < 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(micros)*time.Microsecond - uptime)
}

func sinceBoot() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil { // printk's clock stands still in a suspended machine, too
		return 0
	}
	return time.Duration(ts.Nano())
}

func (k *KernelLog) ours(x exitcodes.Xid) bool {
	for _, gpu := range k.gpus {
		if strings.HasPrefix(gpu, strings.ToLower(x.PCI)) { // the log may leave the function number out
			return true
		}
	}
	return false
}

func parseXid(record []byte) (exitcodes.Xid, bool) {
	if !bytes.Contains(record, []byte("NVRM: Xid")) {
		return exitcodes.Xid{}, false
	}
	m := regexp.MustCompile(`NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d{1,6})`).FindSubmatch(record)
	if m == nil {
		return exitcodes.Xid{}, false
	}
	n, _ := strconv.Atoi(string(m[2]))
	return exitcodes.Xid{Number: n, PCI: string(m[1])}, true
}

var killPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[Oo]ut of memory: Kill(?:ed)? process (\d{1,9}) \(([^)]{0,64})\)`)
})

// parseKill reads "Memory cgroup out of memory: Killed process 4711 (python3) ...", the machine's own, and older
// kernels' "Kill process". Source: mm/oom_kill.c.
func parseKill(record []byte) (exitcodes.Kill, bool) {
	if !bytes.Contains(record, []byte("ut of memory")) {
		return exitcodes.Kill{}, false
	}
	m := killPattern().FindSubmatch(record)
	if m == nil {
		return exitcodes.Kill{}, false
	}
	pid, _ := strconv.Atoi(string(m[1]))
	return exitcodes.Kill{PID: pid, Comm: string(m[2])}, true
}

// visibleGPUs lists the GPUs that the driver shows here; the container toolkit hides the others.
func visibleGPUs(root string) []string {
	dirs, err := filepath.Glob(filepath.Join(root, "proc/driver/nvidia/gpus/*"))
	if err != nil {
		return nil
	}
	for i, dir := range dirs {
		dirs[i] = strings.ToLower(filepath.Base(dir))
	}
	return dirs
}

// Close closes the log.
func (k *KernelLog) Close() {
	if k != nil {
		_ = unix.Close(k.fd)
	}
}
