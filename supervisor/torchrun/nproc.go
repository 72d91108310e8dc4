package torchrun

import "fmt"

// Devices counts what a node has to run workers on.
type Devices struct {
	CPUs func() int          // the processors that this process may use; torch 2.15 looks at its affinity, not at a cgroup
	GPUs func() (int, error) // [CountGPUs]
}

// Workers is the number of workers that --nproc-per-node asks for.
func (o Options) Workers(have Devices) (int, error) {
	source := o.from("nproc-per-node")
	if n, err := number(o.NProc); err == nil {
		if n < 1 {
			return 0, wrong(source, "want at least 1 worker, not %d", n)
		}
		return n, nil
	}
	switch o.NProc {
	case "cpu":
		return have.CPUs(), nil
	case "gpu", "auto":
		n, err := have.GPUs()
		if err != nil {
			return 0, wrong(source, "%s: %v; give a number", o.NProc, err)
		}
		if n == 0 && o.NProc == "auto" {
			return have.CPUs(), nil
		}
		if n == 0 {
			return 0, wrong(source, "gpu: this node shows no GPU; give a number, or auto, which then counts processors")
		}
		return n, nil
	case "xpu":
		return 0, wrong(source, "xpu: only torch can count these devices, and no Python runs here; give a number")
	}
	return 0, wrong(source, "%q is neither a number nor cpu, gpu or auto%s", o.NProc, backendHint(o.NProc))
}

// backendHint answers those who name a backend of a torch extension.
func backendHint(name string) string {
	for _, backend := range []string{"npu", "hpu", "mtia", "mps", "privateuseone"} {
		if name == backend {
			return fmt.Sprintf("; only torch can count devices of %s", name)
		}
	}
	return ""
}
