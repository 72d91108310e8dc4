package evidence

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
)

// KernelLog reads what the kernel says from a moment on. Most containers may not; then there is simply nothing.
type KernelLog struct {
	fd   int
	gpus []string // PCI addresses of the GPUs that this container sees
}

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

// Skip goes to the end of the log: what was said before belongs to an earlier round.
func (k *KernelLog) Skip() {
	if k != nil {
		_, _ = unix.Seek(k.fd, 0, unix.SEEK_END) // it worked when the log was opened
	}
}

// Xids returns the GPU errors that were logged since the log was opened or last read. The log is the whole machine's:
// errors of GPUs which this container does not see, by what the driver shows in /proc, are left out.
func (k *KernelLog) Xids() []exitcodes.Xid {
	if k == nil {
		return nil
	}
	var found []exitcodes.Xid
	record := make([]byte, 8192) // one read is one record; the kernel's bound on a record
	for range 10_000 {
		n, err := unix.Read(k.fd, record)
		if err == unix.EPIPE { // the ring went on while we read: records were lost, the next read goes on
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		if xid, ok := parseXid(record[:n]); ok && k.ours(xid) {
			found = append(found, xid)
		}
	}
	return found
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
