package exitcodes

import "fmt"

// Xid is an error that the NVIDIA driver reported in the kernel's log.
type Xid struct {
	Number int
	PCI    string // bus address of the GPU, 0000:3b:00
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
