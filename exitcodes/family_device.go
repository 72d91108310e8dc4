package exitcodes

import (
	"bytes"
	"strings"
	"unicode"
)

// What devices and their libraries say.
var (
	saysDevice = phrases.list("nvml", "gpuassert", "cublas", "cuda", "cudaerror", "cudnn", "cufft", "cusolver", "cusparse",
		"curand", "hip", "miopen", "rocm")
	saysDeviceError = phrases.list("gpuassert", "nvml_success", "cuda unknown error", "nvml error", "hsa_status", "_status_",
		"cuda driver error", "cuda error", "cudasuccess (", "triton error [cuda]", "unknown_cuda_error", "cuda runtime error", "cuda_error_", "cudaerror", "cudnn error",
		"cufft_", "cusparse error", "error 8", "hip error", "hiperror", "miopenstatus",
		"cuda failure", "curand error ", "cublas error ", "cuda runtime api error", "cudacheck failed", "cuda_check failed", "cuda runtime (", "hip failure")
	saysFailedCall = phrases.list(failedCall)
	// What the runtime says of most states of a device, whoever passes it on.
	saysDeviceState = phrases.list("unspecified launch failure", "illegal memory access was", "misaligned address", "illegal instruction was", "hardware stack error",
		"invalid program counter", "driver shutting down", "startup failure in cuda", "uncorrectable ecc error", "uncorrectable nvlink", "mps server", "launch timed out and was",
		"devices are busy or unavailable", "device(s) is/are busy", "-capable device is detected", "system not yet initialized", "outside of cuda", "hardware resources required to create mps")
	saysDeviceStart  = phrases.list("initialization error", "unknown error", "context is destroyed") // of CUDA
	saysCUDA         = phrases.list("cuda", "rocm")
	saysDeviceMisuse = phrases.list("arch_mismatch", "bad_param", "forward compatibility was attempted", "device-side assert", "insufficient for",
		"invalid argument", "invalid configuration", "invalid device", "invalid device function", "invalid pitch",
		"invalid value", "invalid_argument", "invalid_value", "license_error", "mapping of buffer",
		"kernel image", "not supported", "not_supported", "ptx", "resource handle", "symbol",
		"too many resources", "unsupported",
		"invalidvalue", "invalidconfiguration", "invaliddevice", "invalidresourcehandle", "invalidhandle", "nokernelimage", "invalidkernelimage", "insufficientdriver",
		"outofresources", "out_of_resources", "notsupported", "nobinaryforgpu", "no_binary_for_gpu", "invalid_image", "invalid_context", "streamcapture", "stream is capturing",
		"during capture", "capturing stream", "capturedevent", "cudaerrorassert", "cuda_error_assert", "invalid_handle", "invalid_size", "invalid_plan", "invalid_type",
		"version_mismatch", "type_error", "length_not_multiple", "curand_status_out_of_range", "double_precision_required", "invalidaddressspace", "nvrtc_error", "insufficient permissions", "function not found", "library not found", "argument version mismatch")
)

// deviceFamily knows what CUDA, its libraries and HIP say. Most of it is a device in a bad state, which a new process
// does not inherit; what the program asked for wrongly it will ask for again.
func deviceFamily(class, _ string, message []byte, h heard) family {
	state := h.any(saysDeviceState)
	if !h.any(saysDevice) && !state || compiled(message) || bytes.Contains(message, []byte("cudaError_t,")) { // of a function's arguments
		return family{}
	}
	if !state && !(h.any(saysDeviceStart) && h.any(saysCUDA)) && !h.any(saysDeviceError) && !(h.any(saysFailedCall) && ofDevice(message)) && !strings.HasSuffix(class, "AcceleratorError") {
		return family{}
	}
	if h.any(saysDeviceMisuse) {
		return deterministic("device", "CUDAUsage")
	}
	return transient("device", "CUDAError", RoleRoot)
}

// compiled reports whether a compiler speaks of the source that it reads, which may itself speak of errors.
func compiled(message []byte) bool {
	place, _, found := bytes.Cut(message[:min(len(message), 300)], []byte("error: "))
	place = bytes.TrimRight(bytes.TrimSuffix(place, []byte("fatal ")), ": ")
	return found && len(place) > 0 && (isDigit(place[len(place)-1]) || place[len(place)-1] == ')') && bytes.Contains(place, []byte(".")) && bytes.IndexByte(place, ' ') < 0
}

const failedCall = "() failed. status: "

// ofDevice reports whether the call that has failed is one of CUDA's or HIP's by its name: "cudaGetDevice() failed. Status: ...".
func ofDevice(message []byte) bool {
	i := bytes.Index(bytes.ToLower(message), []byte(failedCall))
	if i < 0 {
		return false
	}
	name := message[:i]
	name = name[bytes.LastIndexFunc(name, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) })+1:]
	for _, prefix := range []string{"cuda", "hip", "cu"} {
		if rest, found := bytes.CutPrefix(name, []byte(prefix)); found && len(rest) > 0 && rest[0] >= 'A' && rest[0] <= 'Z' {
			return true
		}
	}
	return false
}
