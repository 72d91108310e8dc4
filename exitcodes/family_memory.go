package exitcodes

import "strings"

// What is said of memory that a device does not have.
var (
	saysDeviceMemory = phrases.list("cudamalloc failed: out of memory", "cudamalloc retry failed", "out of memory error on gpu", "dst tensor is not initialized",
		"error allocating device buffer", "hbm capacity", "memory space hbm", "cuda_error_out_of_memory", "hiperroroutofmemory", "cudaerrormemoryallocation",
		"out_of_device_memory", "_status_alloc_failed")
	saysFull      = phrases.list("out of memory", "out_of_memory")
	saysOnChip    = phrases.list("cuda", "gpu", "hip", "npu", "xpu", "mlu", "hbm", "vram", "device", "cupy")
	saysOtherRoom = phrases.list("shared memory", "no space left", "larger than max", "message exceeds maximum size", "too many open files", "quota") // what else is exhausted
	saysRoom      = phrases.list("alloc", "memory", "oom ", "reserve")
)

// memoryFamily knows a device whose memory is full, however the library says it. How much a step needs is a matter of its
// batch: where the program had made steps, also such as it only printed, it is tried again.
func memoryFamily(class, name string, message []byte, h heard) family {
	if h.any(saysOtherRoom) {
		return family{}
	}
	byClass := strings.HasPrefix(name, "ResourceExhausted") || strings.HasPrefix(name, "OutOfMemory") || strings.HasPrefix(string(message), "RESOURCE_EXHAUSTED: ") ||
		strings.HasPrefix(string(message), "ResourceExhausted")
	switch {
	case strings.HasPrefix(class, "ray."): // the node's
		return family{}
	case h.any(saysDeviceMemory), h.any(saysFull) && h.any(saysOnChip), byClass && (h.any(saysRoom) || strings.Contains(class, "errors_impl.")):
		f := deterministic("memory", "GPUOutOfMemory").afterProgress()
		f.printed = true
		return f
	}
	return family{}
}
