package exitcodes

// What libraries of collectives say.
var (
	saysCollective = phrases.list("gloo", "hccl error", "hccl function", "hcclcomm", "hccl api", "mpi_",
		"nccl", "ncclinternal", "ncclremote", "ncclsystem", "ncclunhandled", "nvshmem", "oneccl", "operator name is hccl", "rccl", "ucx")
	saysCollectiveMisuse = phrases.list("invalid ", "must be", "unable to find address for", "ncclinvalid", "no support",
		"not available", "] opts.", "not built", "not been built", "requires at least", "unsupported", "cannot open shared object", "unable to load", "is not configured correctly", "undefined symbol", "permission denied", "operation not permitted")
	saysFailure = phrases.list("abort", "closed", "error", "fail", "reset", "timed out", "timeout",
		"watchdog")
)

// collectiveFamily knows NCCL, RCCL, gloo and MPI: what fails there fails with a peer or the network between.
func collectiveFamily(_, name string, message []byte, h heard) family {
	if name != "DistBackendError" && !h.any(saysCollective) {
		return family{}
	}
	if h.any(saysCollectiveMisuse) {
		return family{}
	}
	if name != "DistBackendError" && !h.any(saysFailure) {
		return family{}
	}
	return transient("collective", "CollectiveFailed", RoleSuspect)
}
