package exitcodes

import (
	"strings"
	"testing"
)

// TestBehindBar has what stands behind a progress bar in the same line, since the bar ends none.
func TestBehindBar(t *testing.T) {
	const bar = "Epoch 3:  45%|███▌    | 723/1602 [2:12:45<2:59:53, 12.28s/it"
	for text, want := range map[string]string{
		bar + "]":                      "",
		bar + "] ":                     "",
		bar + ", loss=[1.5, 2]]":       "",
		bar + ", loss=[1.5, 2]]Killed": "Killed",
		bar + "], loss=2.5":            "",
		bar + "][2026-03-25T10:34:07.530] error: x": "[2026-03-25T10:34:07.530] error: x",
		bar + "]./train.sh: line 33: 7 Killed":      "./train.sh: line 33: 7 Killed",
		bar + "]...":                                "",
		bar:                                         "",
		"29948it [35:34,  7.00s/it]slurmstepd: error: x": "slurmstepd: error: x",
		"29948it [35:34,  7.00s/it]":                     "",
		"75%|x| a[i]b":                                   "",
		"[00:02<00:08, 5.02it/s]x":                       "",
	} {
		got := ""
		if at := behindBar([]byte(text)); at > 0 {
			got = text[at:]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]int{
		"was detected.[rank5]:[E602 11:17:52.185 ProcessGroupNCCL.cpp:632] [Rank 5] x": 13,
		"at once [E ProcessGroupNCCL.cpp:460] To avoid":                                8,
		"[E ProcessGroupNCCL.cpp:460] To avoid":                                        0,
		"[rank5]:[E602 11:17:52.185 ProcessGroupNCCL.cpp:632] x":                       0,
		"x[E] and [E 1, 2] in main.cpp:7":                                              0,
	} {
		if got := gluedHead([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	for name, tt := range map[string]struct {
		output string
		code   int
		want   Verdict
		says   string
	}{
		"a bug":              {bar + "]ValueError: 3 is not 4\n", 1, Fatal, "ValueError: 3 is not 4"},
		"the scheduler":      {bar + "]slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-25T10:34:07 DUE TO PREEMPTION ***\n", 1, Preempted, "DUE TO PREEMPTION"},
		"a launcher":         {bar + "][2026-03-25 10:34:07,530] [ERROR] [launch.py:321:sigkill_handler] ['python', 't.py'] exits with return code = -9\n", 1, Retry, "return code = -9"},
		"NCCL, and NCCL":     {"[E ProcessGroupNCCL.cpp:455] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data. [E ProcessGroupNCCL.cpp:828] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1801503 milliseconds before timing out.\n", 134, Retry, "Watchdog caught"},
		"only another bar":   {bar + "]" + bar + "]\n", 1, Fatal, "exited 1"},
		"Lightning, stopped": {bar + "]\nDetected KeyboardInterrupt, attempting graceful shutdown ...\n", 1, Preempted, "KeyboardInterrupt"},
	} {
		o := exited(tt.code)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s, %q; want %s, %q", name, f.Verdict, f.Message, tt.want, tt.says)
		}
	}
}
