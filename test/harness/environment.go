package harness

import (
	"os"
	"strings"
)

// foreign begins the names of the variables by which operators and launchers tell a process its place in a job, and of
// those by which people tell their programs their habits.
var foreign = []string{
	"PET_", "GANGRUN_", "TORCHELASTIC_", "TORCH_", "MASTER_", "OMP_", "SLURM_", "JAX_", "OMPI_", "TF_CONFIG", "RANK", "WORLD_SIZE",
	"NO_COLOR", "PYTHONUNBUFFERED", "NOTIFY_SOCKET", "XLA_",
}

// ClearEnvironment takes out of the environment what was set for another program: what is tested would think itself in
// a job, and a comparison would show it. The tests' own settings stay.
func ClearEnvironment() {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "GANGRUN_TEST_") || name == "GANGRUN_BINARY" {
			continue
		}
		for _, prefix := range foreign {
			if strings.HasPrefix(name, prefix) {
				os.Unsetenv(name)
			}
		}
	}
}
