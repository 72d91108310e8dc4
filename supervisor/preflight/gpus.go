package preflight

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/evidence/gpu"
)

// ProbeGPUs is the name of the probe that asks nvidia-smi.
const ProbeGPUs = "GPUs"

// GPU is what nvidia-smi says about one.
type GPU struct {
	Address  string // on the PCI bus, 00000000:3B:00.0
	Recovery string // gpu_recovery_action; empty where the driver is too old to tell
	Used     int64  // MiB of its memory; -1 when that is not known
	Shared   bool   // it is divided (MIG): who uses what does not show in the sum
	UUID     string // GPU-8932f937-...
	PIDs     string // of the processes that use it, with commas between; empty: none that can be seen from here
}

// GPUs are what a look at them has found.
type GPUs struct {
	List     []GPU
	Attached int // as many as the driver counts; -1 when it does not say
}

// Earlier is what is known of the GPUs from before.
type Earlier struct {
	GPUs *GPUs // at the first look, when nothing of the training ran; nil: this is the first
	// Devices are the GPUs for which this container has a device file.
	Devices int
	// Visible is what CUDA_VISIBLE_DEVICES says of them; nil where it is not set.
	Visible *string
}

// leftMemory is by how much more of a GPU's memory may be in use than at the first look: the driver itself keeps some.
const leftMemory = 1024

// smiLog is the part of nvidia-smi -q -x that is read.
type smiLog struct {
	XMLName  xml.Name `xml:"nvidia_smi_log"`
	Attached string   `xml:"attached_gpus"`
	GPUs     []smiGPU `xml:"gpu"`
}

type smiGPU struct {
	ID       string `xml:"id,attr"`
	Recovery string `xml:"gpu_recovery_action"`
	Used     string `xml:"fb_memory_usage>used"`
	MIG      string `xml:"mig_mode>current_mig"`
	UUID     string `xml:"uuid"`
	// Users are one for each process.
	Users []struct {
		PID string `xml:"pid"`
	} `xml:"processes>process_info"`
}

// pids are those of the processes; one without a PID is unknown, but counts.
func (g smiGPU) pids() string {
	var list []string
	for _, u := range g.Users {
		list = append(list, or(plain(u.PID), "unknown"))
	}
	return plain(strings.Join(list, ", "))
}

// mostGPUs is above what any machine has.
const mostGPUs = 1024

// ParseGPUs reads what nvidia-smi -q -x prints. The error says where it has another form.
func ParseGPUs(text []byte) (GPUs, error) {
	start := bytes.Index(text, []byte("<?xml")) // warnings may come before
	if start < 0 {
		if start = bytes.Index(text, []byte("<nvidia_smi_log")); start < 0 {
			return GPUs{}, errors.New("it is not the XML of nvidia-smi -q -x")
		}
	}
	d := xml.NewDecoder(bytes.NewReader(text[start:]))
	// Names of products may be broken in any other; none is read.
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var log smiLog
	if err := d.Decode(&log); err != nil {
		return GPUs{}, fmt.Errorf("it is not the XML of nvidia-smi -q -x: %s", plain(err.Error()))
	}
	if len(log.GPUs) > mostGPUs {
		return GPUs{}, fmt.Errorf("it lists %d GPUs", len(log.GPUs))
	}
	found := GPUs{Attached: -1}
	if n, err := strconv.Atoi(strings.TrimSpace(log.Attached)); err == nil && n >= 0 && n <= mostGPUs {
		found.Attached = n
	}
	for _, g := range log.GPUs {
		found.List = append(found.List, GPU{
			Address: plain(g.ID), Recovery: plain(g.Recovery), Used: mebibytes(g.Used),
			Shared: strings.TrimSpace(g.MIG) == "Enabled", UUID: plain(g.UUID), PIDs: g.pids(),
		})
	}
	return found, nil
}

// mebibytes reads "1234 MiB"; -1 for anything else.
func mebibytes(s string) int64 {
	number, unit, _ := strings.Cut(strings.TrimSpace(s), " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || unit != "MiB" {
		return -1
	}
	return n
}

// What nvidia-smi exits with, by its manual page.
const (
	smiPowerCables = 8
	smiNoDriver    = 9
	smiInterrupts  = 10
	smiOffTheBus   = 15
)

const elsewhere = "run elsewhere, and have the machine checked: reset the GPU, or reboot"

// JudgeGPUs says what the output of nvidia-smi -q -x means.
func JudgeGPUs(o Output, before Earlier) Result {
	expected := before.Devices > 0 || before.GPUs != nil && len(before.GPUs.List) > 0
	text := lastLine(o.Text)
	switch {
	case o.Absent && expected:
		return note(ProbeGPUs, "have the container toolkit mount it (NVIDIA_DRIVER_CAPABILITIES=utility), or install it",
			"there are GPUs here, and no nvidia-smi to ask about them: not checked")
	case o.Absent:
		return ok(ProbeGPUs, "none are seen here: no nvidia-smi")
	case o.Err != nil:
		return note(ProbeGPUs, "", "nvidia-smi could not be started, so nothing is known of them: %v", o.Err)
	case o.Late > 0:
		return sick(ProbeGPUs, elsewhere, "nvidia-smi had no answer from the driver after %v: it is stuck", o.Late)
	case o.Status.Code == smiPowerCables:
		return sick(ProbeGPUs, "run elsewhere, and have the machine checked: power cables", "a GPU has no power: %s", text)
	case o.Status.Code == smiInterrupts:
		return sick(ProbeGPUs, elsewhere, "the kernel does not serve a GPU's interrupts: %s", text)
	case lost(o) && before.spared(o.Text):
		return note(ProbeGPUs, "have the machine checked", "a GPU that %s is lost: %s", notOurs, text)
	case lost(o):
		return sick(ProbeGPUs, elsewhere, "a GPU is lost: %s", text)
	case bytes.Contains(o.Text, []byte("Driver/library version mismatch")):
		return sick(ProbeGPUs, "reboot the machine, or load the new driver",
			"the driver was replaced while it was loaded: %s", text)
	case unanswered(o) && expected:
		return sick(ProbeGPUs, elsewhere, "there are GPUs here, and the driver does not give them: %s", text)
	case unanswered(o):
		return ok(ProbeGPUs, "none are seen here: %s", text)
	}
	found, err := ParseGPUs(o.Text)
	switch {
	case err != nil && o.Status != (exitcodes.Status{}):
		return note(ProbeGPUs, "", "nvidia-smi %s, so nothing is known of them: %s", o.ended(), or(text, "it says nothing"))
	case err != nil:
		return note(ProbeGPUs, "", "the output of nvidia-smi cannot be read, so nothing is known of them: %v", err)
	}
	return found.judge(before)
}

// lost reports whether nvidia-smi says that a GPU cannot be reached any more.
func lost(o Output) bool {
	if o.Status.Code == smiOffTheBus {
		return true
	}
	return saysLost(string(o.Text))
}

func saysLost(text string) bool {
	return slices.ContainsFunc([]string{"GPU is lost", "fallen off the bus", "Unable to determine the device handle for"},
		func(words string) bool { return strings.Contains(text, words) })
}

// unanswered reports whether nvidia-smi found no driver, or no GPU.
func unanswered(o Output) bool {
	if o.Status.Code == smiNoDriver {
		return true
	}
	for _, words := range []string{
		"couldn't communicate with the NVIDIA driver", "No devices were found", "Failed to initialize NVML: Unknown Error",
	} {
		if bytes.Contains(o.Text, []byte(words)) {
			return true
		}
	}
	return false
}

// judge says what a whole list means.
func (g GPUs) judge(before Earlier) Result {
	ours := before.ours(g)
	var told *Result // the first that is no reason to leave
	for _, f := range g.faults(before.GPUs) {
		if f.State == Sick && ours(f.address) {
			return f.Result
		}
		if told == nil {
			told = &f.Result
			if f.State == Sick {
				*told = note(ProbeGPUs, "have the machine checked", "of a GPU that %s: %s", notOurs, f.Detail)
			}
		}
	}
	if told != nil {
		return *told
	}
	if n := max(g.Attached, before.Devices); n > len(g.List) {
		return note(ProbeGPUs, "look at the kernel's log (Xid) of the machine", "%d of %d can be seen", len(g.List), n)
	}
	used := ""
	for _, gpu := range g.List {
		if before.GPUs == nil && !gpu.Shared && gpu.Used > leftMemory {
			return note(ProbeGPUs, "a job that runs here explains it; else a process was left behind",
				"%d are seen, and %d MiB of the memory of GPU %s are in use", len(g.List), gpu.Used, gpu.Address)
		}
		if gpu.Recovery != "None" {
			used = ", of which the driver does not tell whether they need a reset"
		}
	}
	return ok(ProbeGPUs, "%d are seen%s", len(g.List), used)
}

// fault is what is wrong with one GPU.
type fault struct {
	address string
	Result
}

// faults are what is wrong with each GPU. first are those of the first look, nil when this is it.
func (g GPUs) faults(first *GPUs) (list []fault) {
	for _, gpu := range g.List {
		if gpu.needsRecovery() {
			list = append(list, fault{gpu.Address, sick(ProbeGPUs, "run elsewhere until that is done",
				"GPU %s is not fit for use: the driver asks for %q (gpu_recovery_action)", gpu.Address, gpu.Recovery)})
		}
	}
	if first == nil {
		return list
	}
	for _, was := range first.List {
		if !slices.ContainsFunc(g.List, func(gpu GPU) bool { return gpu.Address == was.Address }) {
			list = append(list, fault{was.Address, sick(ProbeGPUs, elsewhere,
				"GPU %s is gone: there were %d at the start, and now there are %d", was.Address, len(first.List), len(g.List))})
		}
	}
	for _, gpu := range g.List {
		switch more := gpu.kept(*first); {
		case more > 0 && gpu.PIDs != "": // another job's: of ours nothing is left
			list = append(list, fault{gpu.Address, note(ProbeGPUs, "have it end if it is not another job's",
				"%d MiB more of the memory of GPU %s are in use than at the start, where there is process %s",
				more, gpu.Address, gpu.PIDs)})
		case more > 0:
			list = append(list, fault{gpu.Address, sick(ProbeGPUs,
				"look for a process that still uses it; a reset of the GPU gives it back",
				"GPU %s did not get its memory back after the last round: %d MiB more are in use than at the start",
				gpu.Address, more)})
		}
	}
	return list
}

func (g GPU) needsRecovery() bool { return gpu.Asks(g.Recovery) }

// kept is by how many MiB the GPU's memory is in use beyond what is normal; 0 when it is not, or nobody can say.
func (g GPU) kept(first GPUs) int64 {
	for _, was := range first.List {
		if was.Address == g.Address && !g.Shared && g.Used >= 0 && was.Used >= 0 && g.Used-was.Used > leftMemory {
			return g.Used - was.Used
		}
	}
	return 0
}

// MemoryKept reports whether all that is wrong is memory that was not given back: that may take the driver a moment.
func MemoryKept(o Output, before Earlier) bool {
	if before.GPUs == nil || JudgeGPUs(o, before).State != Sick {
		return false
	}
	before.GPUs = &GPUs{List: slices.Clone(before.GPUs.List)}
	for i := range before.GPUs.List {
		before.GPUs.List[i].Used = -1
	}
	return JudgeGPUs(o, before).State != Sick
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
