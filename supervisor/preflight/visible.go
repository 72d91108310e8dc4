package preflight

import (
	"slices"
	"strconv"
	"strings"
)

// notOurs is said of a GPU outside CUDA_VISIBLE_DEVICES: another job may have it, and its state is no reason to leave.
const notOurs = "CUDA_VISIBLE_DEVICES leaves out"

// ours tells by its address whether a GPU is one that this job uses, all being those of the first look, or now where
// this is it. Without CUDA_VISIBLE_DEVICES it uses all, and so it does where parts of GPUs are named (MIG).
func (e Earlier) ours(now GPUs) func(address string) bool {
	if e.GPUs != nil {
		now = *e.GPUs
	}
	if e.Visible == nil || strings.Contains(*e.Visible, "MIG-") {
		return func(string) bool { return true }
	}
	var named []string
	for entry := range strings.SplitSeq(*e.Visible, ",") {
		gpu := now.find(strings.TrimSpace(entry))
		if gpu == nil {
			break // CUDA reads no further either
		}
		named = append(named, gpu.Address)
	}
	return func(address string) bool { return slices.Contains(named, address) }
}

// find finds a GPU by its index or the beginning of its UUID; nil when there is none.
func (g GPUs) find(entry string) *GPU {
	if n, err := strconv.Atoi(entry); err == nil {
		if n < 0 || n >= len(g.List) {
			return nil
		}
		return &g.List[n]
	}
	for i := range g.List {
		if strings.HasPrefix(entry, "GPU-") && strings.HasPrefix(g.List[i].UUID, entry) {
			return &g.List[i]
		}
	}
	return nil
}

// spared reports whether all that a text calls lost are GPUs which this job does not use. That takes a first look: the
// text names them by their addresses.
func (e Earlier) spared(text []byte) bool {
	if e.GPUs == nil {
		return false
	}
	ours, spared := e.ours(GPUs{}), false
	for line := range strings.Lines(string(text)) {
		if !saysLost(line) {
			continue
		}
		at := slices.IndexFunc(e.GPUs.List, func(g GPU) bool { return g.named(line) })
		if at < 0 || ours(e.GPUs.List[at].Address) {
			return false
		}
		spared = true
	}
	return spared
}

// named reports whether a line names the GPU, be it with a shorter domain: 0000:3B:00.0.
func (g GPU) named(line string) bool {
	const short = len("0000:3B:00.0")
	return len(g.Address) >= short &&
		strings.Contains(strings.ToUpper(line), strings.ToUpper(g.Address[len(g.Address)-short:]))
}
