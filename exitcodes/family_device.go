package exitcodes

import "strings"

// What devices and their libraries say.
var (
	saysDevice = phrases.list("nvml", "gpuassert", "cublas", "cuda", "cudaerror", "cudnn", "cufft", "cusolver", "cusparse",
		"hip", "miopen", "rocm")
	saysDeviceError = phrases.list("gpuassert", "nvml_success", "cuda unknown error", "nvml error", "hsa_status", "_status_",
		"cuda driver error", "cuda error", "cuda runtime error", "cuda_error_", "cudaerror", "cudnn error",
		"cufft_", "cusparse", "error 8", "() failed. status: ", "hip error", "hiperror", "miopenstatus")
	saysMemory       = phrases.list("alloc_failed", "out of memory")
	saysDeviceMisuse = phrases.list("arch_mismatch", "bad_param", "device-side assert", "insufficient for",
		"invalid argument", "invalid configuration", "invalid device", "invalid device function", "invalid pitch",
		"invalid value", "invalid_argument", "invalid_value", "license_error", "mapping of buffer",
		"no kernel image", "not supported", "not_supported", "ptx", "resource handle", "symbol",
		"too many resources", "unsupported")
)

// deviceFamily knows what CUDA, its libraries and HIP say. Most of it is a device in a bad state, which a new process
// does not inherit; what the program asked for wrongly it will ask for again.
func deviceFamily(class, _ string, message []byte, h heard) family {
	if !h.any(saysDevice) {
		return family{}
	}
	if !h.any(saysDeviceError) && !strings.HasSuffix(class, "AcceleratorError") {
		return family{}
	}
	if h.any(saysMemory) {
		return family{} // a rule's, which looks at progress
	}
	if h.any(saysDeviceMisuse) {
		return deterministic("device", "CUDAUsage")
	}
	return transient("device", "CUDAError", RoleRoot)
}
