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

// TestCheckLoggedBefore has MXNet log the check that failed before it throws, without words.
func TestCheckLoggedBefore(t *testing.T) {
	const thrown = "\nterminate called after throwing an instance of 'dmlc::Error'\nAborted (core dumped)\n"
	for check, want := range map[string]Verdict{
		"[04:14:45] src/./resender.h:129: Check failed: ent.num_retry < max_num_retry_ (11 vs. 10) ": Retry,
		"[04:14:45] src/operator/nn/conv.cc:152: Check failed: dshape.ndim() == 4U (3 vs. 4) ":       Fatal,
	} {
		for _, o := range []Outcome{killed(sigabrt), exited(134)} {
			if f := Judge(o.printing("epoch begins\n"+check+thrown), BuiltinRules()); f.Verdict != want {
				t.Errorf("%q: %s by %q: %q", check, f.Verdict, f.Rule, f.Evidence)
			}
		}
	}
}
