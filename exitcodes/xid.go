package exitcodes

import (
	"fmt"
	"time"
)

// Xid is an error that the NVIDIA driver reported in the kernel's log.
type Xid struct {
	Number int
	PCI    string    // bus address of the GPU, 0000:3b:00
	At     time.Time // zero when not known
}

func (x Xid) String() string { return fmt.Sprintf("Xid %d on GPU %s", x.Number, x.PCI) }

// Broken reports whether the number alone says that the GPU needs a reset, the machine a reboot, or the link a
// repair, so that the job must run elsewhere. Numbers that a faulty program causes as well (13, 31, 43, 45, 68, 94,
// 109) do not. Source: NVIDIA's Xid catalogue of October 2025.
func (x Xid) Broken() bool {
	switch x.Number {
	case 46, 48, 62, 64, 74, 79, 95, 110, 119, 120, 136, 140, 143, 155, 156, 158:
		return true
	}
	return x.Number >= 144 && x.Number <= 150
}

func (x *Xid) orNothing() string {
	if x == nil {
		return ""
	}
	return "the GPU driver reported " + x.String()
}

// explains is how long before the end of a worker an event of the machine may have been to explain it: collectives wait
// ten minutes and more for a GPU that is gone.
const (
	xidExplains  = 30 * time.Minute
	killExplains = time.Minute
)

// brokenGPU is the first Xid that says that a GPU is broken, and is not too old to explain the worker's end.
func (o *Outcome) brokenGPU() *Xid {
	for i := range o.Xids {
		if x := &o.Xids[i]; x.Broken() && (x.At.IsZero() || o.At.IsZero() || o.At.Sub(x.At) < xidExplains) {
			return x
		}
	}
	return nil
}

// killed says whom the kernel killed for memory, as far as that may explain the worker's end; empty when nobody.
func (o *Outcome) killed() string {
	if o.OOMKills <= 0 {
		return ""
	}
	counted := fmt.Sprintf("%s in the container's cgroup since the start", plural(o.OOMKills, "out-of-memory kill", "out-of-memory kills"))
	recent := o.Kills[:0:0]
	for _, k := range o.Kills {
		if k.At.IsZero() || o.At.IsZero() || o.At.Sub(k.At) < killExplains {
			recent = append(recent, k)
		}
	}
	switch {
	case len(o.Kills) < o.OOMKills || len(recent) > 0 && len(o.Kills) > o.OOMKills:
		return counted // of some it is not known when they were, or some are not this container's
	case len(recent) == 0:
		return "" // all of them are too old
	}
	k := recent[len(recent)-1]
	return fmt.Sprintf("the kernel killed %s (pid %d) for memory; %s", k.Comm, k.PID, counted)
}
