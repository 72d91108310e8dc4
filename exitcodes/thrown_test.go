package exitcodes

import "testing"

// TestFailedCheck has MXNet and its parameter server throw what nobody catches: a check of what they were given, and conditions
// that pass.
func TestFailedCheck(t *testing.T) {
	const head = "epoch begins\nterminate called after throwing an instance of 'dmlc::Error'\n  what():  [21:21:28] "
	const mpirun = "mpirun noticed that process rank 0 with PID 26987 on node n3 exited on signal 6 (Aborted).\n"
	for what, want := range map[string]Verdict{
		"src/kv_app.h:574: Check failed: (vals->size()) == (total_val) \n" + mpirun:                  Fatal,
		"src/operator/nn/conv.cc:152: Check failed: dshape.ndim() == 4U (3 vs. 4) : data is 4D\n":    Fatal,
		"src/van.cc:375: Check failed: (my_node_.port) != (-1) bind failed\n":                        Retry,
		"src/zmq_van.h:149: Check failed: connect to tcp://10.0.0.1:9000 failed: Connection refused": Retry,
		"src/comm.h:50: Check failed: e == cudaSuccess: CUDA: unspecified launch failure\n":          Retry,
	} {
		for _, o := range []Outcome{killed(sigabrt), exited(134), exited(255)} {
			if f := Judge(o.printing(head+what), BuiltinRules()); f.Verdict != want {
				t.Errorf("%d, %q: %s by %q: %q", f.Code, what, f.Verdict, f.Rule, f.Evidence)
			}
		}
	}
}
