package exitcodes

import "bytes"

// saysNeedsGPU is what a program says that finds no GPU.
var saysNeedsGPU = phrases.list("requires a gpu", "requires gpu", "requires a cuda", "requires cuda", "needs a gpu", "no gpu found", "no gpu is", "no gpu available", "no gpu detected", "no gpus", "no cuda gpu", "no cuda device", "no cuda-capable", "cuda is not available", "gpu is not available", "gpu not available",
	"cuda not available", "gpu not found", "find any gpu", "find a gpu", "no available gpu", "torch.cuda.is_available() is false", "cuda device is available", "cpu-only machine", "not 'cpu'")

// unknownError is torch's warning of a driver that answers nothing.
const unknownError = "CUDA unknown error - this may be due to an incorrectly set up environment"

// deviceGone is the line in which a driver or a library says that the GPUs of this machine do not answer, where the exception that ended
// the program only says that it finds none: that is the machine's fault, and not the program's.
func (r *reader) deviceGone(s said) (said, bool) {
	if s.known && s.match.Rule.Verdict != Fatal || !r.rules.families {
		return s, false
	}
	told := s.exception + s.match.Line
	if !r.meter.afford(2, min(len(told), maxMessageText)) || !phrases.in(bytes.ToLower([]byte(told[:min(len(told), maxMessageText)]))).any(saysNeedsGPU) {
		return s, false
	}
	for i := r.explainsFrom(s.at); i < s.at && i < len(r.lines); i++ {
		l := &r.lines[i]
		if !l.contains("CUDA", "NVML", "NVIDIA") || !r.meter.afford(familyPasses, min(len(l.text), maxMessageText)) {
			continue
		}
		if l.contains(unknownError) || familyOf("", l.text).reason == "GPULost" {
			role := RoleRoot
			if l.contains(unknownError) { // which a program can bring about itself
				role = RoleSuspect
			}
			return said{match: Match{Rule: transient("device", "GPULost", role).rule(), Line: l.shown()}, known: true, at: i, other: told}, true
		}
	}
	return s, false
}
