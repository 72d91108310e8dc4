package exitcodes

import (
	"strings"
	"testing"
)

// TestAsserted has a device on which an assertion failed, and a library that told of its state as whatever it called next: the
// program does it again. TorchServe's logger stands before the words of its workers.
func TestAsserted(t *testing.T) {
	const (
		served = "2022-11-22T15:40:53,916 [WARN ] W-9000-my_tc_1.0-stderr MODEL_LOG - "
		assert = "../aten/src/ATen/native/cuda/Indexing.cu:975: indexSelectLargeIndex: block: [85,0,0], thread: [1,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n"
		cublas = "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"
	)
	for name, tt := range map[string]struct {
		output string
		want   Verdict
		says   string
	}{
		"raised":            {assert + wrap(cublas), Fatal, "srcIndex < srcSelectDimSize"},
		"served":            {served + assert + served + cublas + "\n", Fatal, "srcIndex < srcSelectDimSize"},
		"without assertion": {wrap(cublas), Retry, "CUBLAS_STATUS_NOT_INITIALIZED"},
		"of something else": {assert + wrap("RuntimeError: Connection reset by peer"), Retry, "reset by peer"},
		"THC":               {"THCudaCheck FAIL file=a.cpp line=271 error=4 : unspecified launch failure\n" + "Traceback (most recent call last):\n  File \"t.py\", line 4, in train\n    allow_unreac\n", Retry, "error=4"},
	} {
		o := exited(1)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s, %q; want %s, %q", name, f.Verdict, f.Evidence, tt.want, tt.says)
		}
	}
}

// TestOtherCodes has programs that exit with a code above the signals': the line that says most is the evidence.
func TestOtherCodes(t *testing.T) {
	for output, want := range map[string]string{
		"ERROR (nnet3-train[5.4]:CopyToVec():cu-vector.cc:899) cudaError_t 4 : \"unspecified launch failure\" returned from 'cudaMemcpy'\n\n[ Stack-Trace: ]\n\nkaldi::MessageLogger::~MessageLogger()\nvoid kaldi::CuVectorBase<float>::CopyToVec<float>(kaldi::VectorBase<float>*) const\n": "unspecified launch failure",
		wrap("RuntimeError: odd"): "odd",
	} {
		o := exited(255)
		o.Output = []byte(output)
		if f := Judge(o, BuiltinRules()); f.Verdict != Retry || !strings.Contains(f.Evidence, want) {
			t.Errorf("%s, %q; want %q", f.Verdict, f.Evidence, want)
		}
	}
}
