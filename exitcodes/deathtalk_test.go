package exitcodes

import "testing"

// TestTalkOfDeath has an interpreter that goes down after an exception nobody caught crash: what the C library, MXNet and Open MPI
// say of that tells how it died, and the exception why. What names something that passes is more than that.
func TestTalkOfDeath(t *testing.T) {
	const thrown = "terminate called after throwing an instance of '"
	for name, tt := range map[string]struct {
		printed string
		signal  int
		verdict Verdict
	}{
		"C++ throws":           {raised + badHeads + "\n" + thrown + "c10::Error'\n  what():  owning_ptr INTERNAL ASSERT FAILED\nAborted (core dumped)\n", sigabrt, Fatal},
		"the driver is gone":   {raised + badHeads + "\n" + thrown + "c10::CUDAError'\n  what():  CUDA error: driver shutting down\nAborted (core dumped)\n", sigabrt, Fatal},
		"a heap":               {raised + badHeads + "\nfree(): invalid pointer\nAborted (core dumped)\n", sigabrt, Fatal},
		"a heap, an old glibc": {raised + badHeads + "\n*** Error in `python': double free or corruption (out): 0x00007f ***\n======= Backtrace: =========\n/lib/libc.so.6(+0x777e5)[0x7f0]\n======= Memory map: ========\n00400000-007a9000 r-xp 00000000 08:01 1 /usr/bin/python\n", sigabrt, Fatal},
		"a thread":             {raised + badHeads + "\nFATAL: exception not rethrown\n", sigabrt, Fatal},
		"a lock":               {raised + badHeads + "\npython: ../nptl/pthread_mutex_lock.c:81: __pthread_mutex_lock: Assertion `mutex->__data.__owner == 0' failed.\n", sigabrt, Fatal},
		"MXNet":                {raised + badHeads + "\n\nSegmentation fault: 11\n\nStack trace:\n  [bt] (0) /usr/lib/libmxnet.so(+0x2e6b160) [0x7f]\n", sigsegv, Fatal},
		"Open MPI":             {raised + badHeads + "\n[n3:12345] *** Process received signal ***\n[n3:12345] Signal: Segmentation fault (11)\n[n3:12345] Signal code: Address not mapped (1)\n[n3:12345] Failing at address: 0x18\n[n3:12345] [ 0] /lib/libc.so.6(+0x42520)[0x7f]\n[n3:12345] *** End of error message ***\n", sigsegv, Fatal},
		"a lost peer":          {raised + reset + "\nfree(): invalid pointer\n", sigabrt, Retry},
		"the watchdog":         {raised + badHeads + "\n" + watchdog, sigabrt, Retry},
		"a kernel failed":      {raised + badHeads + "\n" + thrown + "c10::Error'\n  what():  CUDA error: unspecified launch failure\n", sigabrt, Retry},
		"it went on":           {raised + badHeads + "\nvalidation skips this sample\nfree(): invalid pointer\n", sigabrt, Retry},
		"a heap alone":         {"free(): invalid pointer\nAborted (core dumped)\n", sigabrt, Retry},
		"a failed check":       {"[12:00:00] D:\\mxnet\\dmlc/logging.h:308: [12:00:00] d:\\mxnet\\src\\operator\\x.cc:113: Check failed: shape[0] == 3 (4 vs. 3)\nAborted (core dumped)\n", sigabrt, Fatal},
		"a check of a device":  {"[12:00:00] d:\\mxnet\\engine\\./threaded_engine.h:347: [12:00:00] d:\\mxnet\\x.cc:113: Check failed: e == cudaSuccess CUDA: unspecified launch failure\nAborted (core dumped)\n", sigabrt, Retry},
		"a state, of glog":     {"F1126 10:00:00.000000 7 xla.cc:54] Check failed: status.ok()\nAborted (core dumped)\n", sigabrt, Retry},
		"a survived check":     {"[12:00:00] src/x.cc:113: Check failed: shape[0] == 3 (4 vs. 3)\nstep 1 loss 2.1\nstep 2 loss 2.0\nstep 3 loss 1.9\nstep 4 loss 1.8\nstep 5 loss 1.7\nAborted (core dumped)\n", sigabrt, Retry},
		"its own logic":        {thrown + "std::out_of_range'\n  what():  vector::_M_range_check\n", sigabrt, Fatal},
		"its surroundings":     {thrown + "std::runtime_error'\n  what():  something\n", sigabrt, Retry},
	} {
		for how, status := range map[string]Status{"signal": {Signal: tt.signal}, "shell": {Code: CodeSignalBase + tt.signal}} {
			o := Outcome{Rank: -1, LocalRank: -1, Status: status, Output: []byte("Loading run.yaml\n" + tt.printed)}
			if f := Judge(o, BuiltinRules()); f.Verdict != tt.verdict {
				t.Errorf("%s, %s: %s by %q: %s", name, how, f.Verdict, f.Rule, f.Message)
			}
		}
	}
}
