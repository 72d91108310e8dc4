package exitcodes

import "testing"

// TestRaysHead has the head that Ray's own logger writes, and classes of whatever was closed by the other end.
func TestRaysHead(t *testing.T) {
	lines := readLines([]byte("2025-01-06 15:36:29,768\tERROR tune.py:1037 -- Trials did not complete: [a]\n"), newMeter(1000))
	if l := &lines[0]; l.shown() != "Trials did not complete: [a]" || l.level != levelError {
		t.Errorf("%q, level %d", l.shown(), l.level)
	}
	for text, want := range map[string]string{
		"distributed.comm.core.CommClosedError: in <TCP (closed)>: Stream is closed":                        "PeerLost",
		"tornado.iostream.StreamClosedError: Stream is closed":                                              "PeerLost",
		"xgboost.core.XGBoostError: [15:04:39] /w/src/collective/rabit_communicator.h:58: Allreduce failed": "CollectiveFailed",
		"pymongo.errors.AutoReconnect: connection closed":                                                   "PeerLost",
		"pynvml.NVMLError_Unknown: Unknown Error":                                                           "GPULost",
		"acme.ServeError: listen tcp :29500: bind: address already in use":                                  "AddressInUse",
		"RuntimeError: Interrupted system call":                                                             "ResourceBusy",
		"xgboost.core.XGBoostError: [15:04:39] /w/src/data/data.cc:58: Check failed: labels.Size() == n":    "Error",
	} {
		o := exited(1)
		o.Output = []byte(wrap(text))
		if f := Judge(o, BuiltinRules()); f.Reason != want {
			t.Errorf("%q: %s %s by %q", text, f.Verdict, f.Reason, f.Rule)
		}
	}
}
