package exitcodes

import (
	"fmt"
	"testing"
)

// TestAbortedOfACheck has programs in C++ abort: of a check of what they were given, which comes again; of one that tells of a
// condition that passes, or only of a state; and of an error that they had told before.
func TestAbortedOfACheck(t *testing.T) {
	const glog, dated, tf = "F1126 10:00:00.000000 7 shape.cpp:54] ", "F20261126 10:00:00.000000 7 shape.cpp:54] ", "2026-11-26 10:00:00.000000: F ./tensorflow/core/util/launch.h:127] "
	for text, want := range map[string]Verdict{
		glog + "Check failed: axis < num_axes() (4 vs. 4) ":                                                                                                     Fatal,
		dated + "Check failed: index < shape->NumAxes() (0 vs. 0)  Shape: () ":                                                                                  Fatal,
		tf + "Check failed: work_element_count > 0 (0 vs. 0)":                                                                                                   Fatal,
		glog + "Check failed: a <= b (0 vs. -1.2e-07) ":                                                                                                         Fatal,
		glog + "Cannot copy param 0 weights from layer 'fc8'; shape mismatch.  Source: 10 Target: 12":                                                           Fatal,
		glog + "Check failed: std::equal(top_shape.begin() + 1, top_shape.end(), shape.begin()) ":                                                               Fatal,
		glog + "Check failed: bottom[0]->shape() == bottom[i]->shape() bottom[0]: 1 64 (64), bottom[1]: 1 32 (32)":                                              Fatal,
		glog + "Check failed: fd != -1 (-1 vs. -1) File not found: solver.prototxt":                                                                             Fatal,
		glog + "Unknown bottom blob 'data' (layer 'conv1', bottom index 0)":                                                                                     Fatal,
		"train: ./src/data.c:88: load: Assertion `n_classes > 0' failed.":                                                                                       Fatal,
		" CUDA Error: invalid argument\ntrain: ./src/utils.c:326: error: Assertion `0' failed.":                                                                 Fatal,
		"GPUassert: out of memory device.cu 32":                                                                                                                 Fatal,
		"[2026-11-26 10:00:01] Error: CUDA error 1 'invalid argument' - a.cu:54: launch\n[2026-11-26 10:00:01] Error: Aborted from void gpu::fill() in a.cu:54": Fatal,

		"[2026-11-26 10:00:00.000000: F byteps/common/communicator.cc:135] Check failed: (ret) >= (0) /run/socket_0 bind failed: Permission denied":      Fatal,
		"[2026-11-26 10:00:00.000000: F byteps/common/communicator.cc:135] Check failed: (ret) >= (0) /run/socket_0 bind failed: Address already in use": Retry,

		dated + "Check failed: len > 0 ":                                                                       Retry,
		glog + "Check failed: x == y":                                                                          Retry,
		glog + "Check failed: ibv_post_send(qp, &wr, &bad) == 0 (12 vs. 0) ":                                   Retry,
		"raylet_client.cc:1: Check failed: status.ok() cannot register":                                        Retry,
		glog + "Check failed: status == 0 (3 vs. 0) ":                                                          Retry,
		glog + "Check failed: pthread_create(&t, 0, run, p) == 0 (11 vs. 0) ":                                  Retry,
		dated + "Check failed: len >= 0  peer=10.0.0.2: Connection reset by peer [104]":                        Retry,
		glog + "Check failed: error == cudaSuccess (77 vs. 0)  an illegal memory access was encountered":       Retry,
		"python: malloc.c:2401: sysmalloc: Assertion `(old_top == initial_top (av) && old_size == 0)' failed.": Retry,
		"train: pthread_mutex_lock.c:94: lock: Assertion `mutex->__data.__owner == 0' failed.":                 Retry,
		"train: ./src/utils.c:326: error: Assertion `0' failed.":                                               Retry,
		" CUDA Error: unspecified launch failure\ntrain: ./src/utils.c:326: error: Assertion `0' failed.":      Retry,
		"Error: CUDA error 1 'invalid argument' - a.cu:54: launch\nvalidation begins anew":                     Retry,
	} {
		for _, end := range []string{"\n*** Check failure stack trace: ***\n    @     0x7f10eff21c9a  google::LogMessage::Fail()\n", "\n./run.sh: line 7: 11892 Aborted                 (core dumped) ./train\n"} {
			for _, o := range []Outcome{killed(sigabrt), exited(134)} {
				if f := Judge(o.printing("reading the net\n"+text+end), BuiltinRules()); f.Verdict != want {
					t.Errorf("%q: %s by %q: %q", text, f.Verdict, f.Rule, f.Evidence)
				}
			}
		}
	}
}

// A check that failed before the training made its steps was another's, or is got over.
func TestWorkAfterACheck(t *testing.T) {
	const said = "E1126 10:00:00.000000 7 shape.cpp:54] Check failed: axis < num_axes() (4 vs. 4) \n"
	steps := ""
	for i := range 2 * maxRecord {
		steps += fmt.Sprintf("step %d loss 2.%d\n", i, i)
	}
	o := killed(sigabrt).printing(said + steps)
	if f := Judge(o, BuiltinRules()); f.Verdict != Retry {
		t.Errorf("%s by %q: %q", f.Verdict, f.Rule, f.Evidence)
	}
}

// A macro of the program's own that asserts something aborts, whatever other threads print after it.
func TestAssertedByMacro(t *testing.T) {
	const noise = "ptrace: Operation not permitted.\nNo stack.\nThe program is not being run.\n"
	for says, verdict := range map[string]Verdict{
		"ggml/src/ggml.c:20623: GGML_ASSERT(n % 8 == 0) failed\n":                          Fatal,
		"converting to q4_0 .. ggml/src/ggml.c:20623: GGML_ASSERT(n_dims <= 4) failed\n":   Fatal,
		"ggml/src/ggml-rpc.cpp:77: GGML_ASSERT(status == 0) failed\n":                      Retry, // of a call
		"the macro GGML_ASSERT(x) failed in an older build\n":                              Retry,
		"ggml/src/ggml-cuda.cu:12: GGML_ASSERT(cudaMalloc(&p, n) == cudaSuccess) failed\n": Retry,
	} {
		out := "load\n" + says + noise + says + noise + noise + "Aborted (core dumped)\n"
		if f := Judge(exited(134).printing(out), BuiltinRules()); f.Verdict != verdict {
			t.Errorf("%q: %s by %q", says, f.Verdict, f.Rule)
		}
	}
}

// A shell or a launcher that tells of a child's abort passes on what the child had checked.
func TestChildAborted(t *testing.T) {
	const check, refused = "F1126 10:00:00.000000 7 kv.cc:54] Check failed: getenv(\"DMLC_NUM_SERVER\") error: env DMLC_NUM_SERVER not set\n", "F1126 10:00:00.000000 7 net.cc:54] Check failed: fd >= 0 Connection refused\n"
	for _, tells := range []string{"./run.sh: line 20:   220 Aborted                 (core dumped) python train.py\n", "mpirun noticed that process rank 0 with PID 0 on node n1 exited on signal 6 (Aborted).\n"} {
		for said, want := range map[string]Verdict{check: Fatal, refused: Retry, "": Retry} {
			if f := Judge(exited(1).printing("loading\n"+said+tells), BuiltinRules()); f.Verdict != want {
				t.Errorf("%q: %s by %q: %s", said+tells, f.Verdict, f.Rule, f.Message)
			}
		}
	}
	if f := Judge(exited(1).printing("loading\n"+check+"./run.sh: line 20:   220 Killed                 python train.py\n"), BuiltinRules()); f.Verdict != Retry {
		t.Errorf("killed: %s by %q: %s", f.Verdict, f.Rule, f.Message)
	}
}
