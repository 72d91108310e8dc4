package exitcodes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func exited(code int) Outcome { return Outcome{Rank: -1, LocalRank: -1, Status: Status{Code: code}} }

func killed(signal int) Outcome {
	return Outcome{Rank: -1, LocalRank: -1, Status: Status{Signal: signal}}
}

func (o Outcome) with(change func(*Outcome)) Outcome { change(&o); return o }

func (o Outcome) printing(lines ...string) Outcome {
	o.Output = []byte(strings.Join(lines, "\n") + "\n")
	return o
}

func TestJudge(t *testing.T) {
	tests := []struct {
		name    string
		outcome Outcome
		verdict Verdict
		code    int
		reason  string
		role    Role
		says    string // within the message
	}{
		{"success", exited(0), Success, 0, "Succeeded", RoleNone, "exited 0"},
		{"an ordinary failure", exited(3), Fatal, 3, "Error", RoleRoot, "exited 3"},
		{"the last fatal code", exited(125), Fatal, 125, "Error", RoleRoot, ""},
		{"the first retryable code", exited(128), Retry, 128, "Error", RoleRoot, ""},
		{"a code that stands for a signal", exited(137), Retry, 137, "Error", RoleRoot, "SIGKILL"},
		{"the highest code", exited(255), Retry, 255, "Error", RoleRoot, ""},
		{"a shell found no command", exited(127), Fatal, 127, "NotFound", RoleRoot, ""},
		{"a shell could not execute", exited(126), Fatal, 126, "NotExecutable", RoleRoot, ""},
		{"a signal", killed(9), Retry, 137, "KilledBySIGKILL", RoleRoot, "was killed by SIGKILL"},
		{"a crash", killed(11), Retry, 139, "KilledBySIGSEGV", RoleRoot, ""},

		{"never started: missing", exited(127).with(func(o *Outcome) { o.NotStarted = "cannot start /nope: no such file" }),
			Fatal, 127, "NotFound", RoleRoot, "/nope"},
		{"never started: no execute bit", exited(126).with(func(o *Outcome) { o.NotStarted = "cannot start /etc: is a directory" }),
			Fatal, 126, "NotExecutable", RoleRoot, "/etc"},
		{"never started: no processes left", exited(0).with(func(o *Outcome) { o.NotStarted = "resource temporarily unavailable" }),
			Retry, 214, "NodeUnhealthy", RoleRoot, ""},

		{"stopped from outside, exit 0", exited(0).with(func(o *Outcome) { o.Stop, o.StopSignal = StoppedOutside, 15 }),
			Preempted, 143, "Preempted", RoleNone, "SIGTERM from outside"},
		{"stopped from outside, exit 1", exited(1).with(func(o *Outcome) { o.Stop, o.StopSignal = StoppedOutside, 2 }),
			Preempted, 130, "Preempted", RoleNone, "SIGINT from outside"},
		{"stopped by gangrun is never the cause", killed(15).with(func(o *Outcome) { o.Stop = StoppedByGang }),
			Retry, 143, "Error", RoleNone, "another worker"},

		{"OOM: killed", killed(9).with(func(o *Outcome) { o.OOMKills = 1 }), Retry, 137, "OOMKilled", RoleRoot, "memory"},
		{"OOM: a shell says so", exited(137).with(func(o *Outcome) { o.OOMKills = 1 }), Retry, 137, "OOMKilled", RoleRoot, "memory"},
		{"OOM: a child was killed, the worker exits 1", exited(1).with(func(o *Outcome) { o.OOMKills = 2 }),
			Retry, 137, "OOMKilled", RoleRoot, "exited 1"},
		{"OOM and success", exited(0).with(func(o *Outcome) { o.OOMKills = 1 }), Success, 0, "Succeeded", RoleNone, ""},
		{"shared memory full", killed(7).with(func(o *Outcome) { o.SharedMemoryFull = true }),
			Retry, 135, "SharedMemoryFull", RoleRoot, "/dev/shm"},
		{"a broken GPU", exited(1).with(func(o *Outcome) { o.Xids = []Xid{{Number: 79, PCI: "0000:3b:00"}} }),
			Retry, 214, "NodeUnhealthy", RoleRoot, "Xid 79"},
		{"an application's Xid decides nothing", exited(1).with(func(o *Outcome) { o.Xids = []Xid{{Number: 31, PCI: "0000:3b:00"}} }),
			Fatal, 1, "Error", RoleRoot, ""},

		{"an uncaught exception", exited(1).printing("Traceback (most recent call last):", `  File "t.py", line 1, in <module>`,
			"    raise ValueError('boom')", "ValueError: boom"), Fatal, 1, "Error", RoleRoot, "ValueError: boom"},
		{"an import that fails", exited(1).printing("ModuleNotFoundError: No module named 'torhc'"),
			Fatal, 1, "ImportError", RoleRoot, "torhc"},
		{"the same after progress", exited(1).printing("ModuleNotFoundError: No module named 'torhc'").
			with(func(o *Outcome) { o.Progressed = Yes }), Retry, 210, "ImportError", RoleRoot, ""},
		{"a rule makes it retry", exited(1).printing("OSError: [Errno 116] Stale file handle: '/data'"),
			Retry, 210, "StaleFileHandle", RoleRoot, "Stale"},
		{"a rule makes it fatal", exited(255).printing("ncclInvalidUsage: This usually reflects invalid usage of NCCL library."),
			Fatal, 91, "NCCLUsage", RoleRoot, ""},
		{"a crash that says why", killed(6).printing("[rank0]:[E1] CUDA error: an illegal memory access was encountered"),
			Retry, 134, "CUDAError", RoleRoot, ""},
		{"a crash whose words make it fatal", killed(6).printing("CUDA error: device-side assert triggered"),
			Fatal, 91, "CUDAAssert", RoleRoot, ""},
		{"words do not explain a SIGKILL", killed(9).printing("ModuleNotFoundError: No module named 'x'"),
			Retry, 137, "KilledBySIGKILL", RoleRoot, ""},
		{"a cascade is worth a retry", exited(1).printing("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:1"),
			Retry, 210, "PeerLost", RoleCascade, ""},
		{"noise says nothing", exited(1).printing("CUDA kernel errors might be asynchronously reported at some other API call: CUDA error: out of memory"),
			Fatal, 1, "Error", RoleRoot, ""},
		{"a survived error does not outrank the last traceback", exited(1).printing(
			"warning: [Errno 5] Input/output error, sample skipped", "Traceback (most recent call last):",
			`  File "t.py", line 9, in <module>`, "TypeError: unsupported operand"), Fatal, 1, "CodeError", RoleRoot, "TypeError"},
		{"what a traceback was caused by belongs to it", exited(1).printing(
			"Traceback (most recent call last):", `  File "t.py", line 1, in f`, "OSError: [Errno 116] Stale file handle", "",
			"The above exception was the direct cause of the following exception:", "",
			"Traceback (most recent call last):", `  File "t.py", line 2, in g`, "RuntimeError: cannot read the shard"),
			Retry, 210, "StaleFileHandle", RoleRoot, ""},
		{"success by code, not by words", exited(0).printing("ERROR: Invalid metadata file /ckpt/latest. Exiting"),
			Fatal, 91, "CheckpointUnreadable", RoleRoot, ""},
		{"ordinary words do not spoil a success", exited(0).printing("ValueError: handled", "[Errno 116] Stale file handle"),
			Success, 0, "Succeeded", RoleNone, ""},
		{"exit 0 that was an answer to SIGTERM", exited(0).printing("exiting program after receiving SIGTERM."),
			Preempted, 143, "Preempted", RoleRoot, ""},
		{"TensorFlow's own restart code", exited(42).printing("I tensorflow/core/util/port.cc:153] oneDNN custom operations are on."),
			Retry, 210, "CheckpointedForRestart", RoleRoot, ""},
		{"42 of another program", exited(42), Fatal, 42, "Error", RoleRoot, ""},

		{"a survived error long before an exception that nobody knows", exited(1).printing(
			append(append([]string{"warning: [Errno 5] Input/output error, sample skipped"}, slices.Repeat([]string{"step"}, 60)...),
				"Traceback (most recent call last):", `  File "t.py", line 9, in <module>`, "ValueError: boom")...), Fatal, 1, "Error", RoleRoot, "boom"},
		{"what a library printed right before the exception", exited(1).printing(
			"[E] CUDA error: uncorrectable ECC error encountered",
			"Traceback (most recent call last):", `  File "t.py", line 9, in <module>`, "RuntimeError: cannot go on"), Retry, 210, "GPUMemoryError", RoleRoot, "ECC"},
		{"a cascade that was printed after the cause", exited(1).printing(
			"Traceback (most recent call last):", `  File "t.py", line 9, in <module>`, "ValueError: boom",
			"Traceback (most recent call last):", `  File "t.py", line 5, in recv`, "ConnectionError: rank 0: lost rank 1: connection closed by peer"),
			Fatal, 1, "Error", RoleRoot, "boom"},
		{"source code in a traceback is not what was printed", exited(1).printing(
			"Traceback (most recent call last):", `  File "t.py", line 9, in <module>`, "    raise ValueError('[Errno 116] Stale file handle?')", "ValueError: it is not"), Fatal, 1, "Error", RoleRoot, "it is not"},
		{"a NUL before the line", exited(1).printing("\x00ModuleNotFoundError: No module named 'x'"), Fatal, 1, "ImportError", RoleRoot, ""},
		{"a code that stands for SIGKILL is not explained by words", exited(137).printing("ConnectionResetError: [Errno 104] Connection reset by peer"),
			Retry, 137, "Error", RoleRoot, "SIGKILL"},
		{"an abort that nobody explains", killed(6), Retry, 134, "KilledBySIGABRT", RoleSuspect, ""},

		{"the error file", exited(1).with(func(o *Outcome) {
			o.ErrorFile = []byte(`{"message": {"message": "ValueError: bad shape", "extraInfo": {"py_callstack": "Traceback", "timestamp": "1795263125"}}}`)
		}), Fatal, 1, "Error", RoleRoot, "ValueError: bad shape"},
		{"the error file through the rules", exited(1).with(func(o *Outcome) {
			o.ErrorFile = []byte(`{"message": "OSError: [Errno 116] Stale file handle", "timestamp": 1795263125}`)
		}), Retry, 210, "StaleFileHandle", RoleRoot, "Stale"},
		{"a broken error file is no evidence", exited(1).with(func(o *Outcome) { o.ErrorFile = []byte(`{"message`) }),
			Fatal, 1, "Error", RoleRoot, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Judge(tt.outcome, BuiltinRules())
			if f.Verdict != tt.verdict || f.Code != tt.code || f.Reason != tt.reason || f.Role != tt.role {
				t.Errorf("got %s %d %s %v, want %s %d %s %v\n%+v", f.Verdict, f.Code, f.Reason, f.Role,
					tt.verdict, tt.code, tt.reason, tt.role, f)
			}
			if !strings.Contains(f.Message, tt.says) {
				t.Errorf("message %q does not say %q", f.Message, tt.says)
			}
		})
	}
}

// Every code and signal, without any other evidence, keeps its own number.
func TestJudgeKeepsEveryCode(t *testing.T) {
	for code := range 256 {
		if f := Judge(exited(code), NoRules()); f.Code != code || f.Verdict != CodeVerdict(code) {
			t.Errorf("exit code %d became %d, %s", code, f.Code, f.Verdict)
		}
	}
	for sig := 1; sig <= sigmax; sig++ {
		if f := Judge(killed(sig), NoRules()); f.Code != 128+sig || f.Verdict != Retry || f.Signal != sig {
			t.Errorf("signal %d became %+v", sig, f)
		}
	}
}

func TestCodeForSaysTheVerdict(t *testing.T) {
	for own := -1; own <= 300; own++ {
		for _, v := range []Verdict{Success, Retry, Fatal} {
			code := CodeFor(v, own)
			if CodeVerdict(code) != v || code > 255 {
				t.Fatalf("CodeFor(%s, %d) = %d, which says %s", v, own, code, CodeVerdict(code))
			}
		}
	}
}

func TestCause(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	tests := []struct {
		name string
		in   []Finding
		want int
	}{
		{"nobody failed", []Finding{{Verdict: Success}, {Verdict: Preempted, Role: RoleNone}}, -1},
		{"the earliest of equals", []Finding{{Verdict: Retry, Role: RoleRoot, At: at(5)}, {Verdict: Retry, Role: RoleRoot, At: at(3)}}, 1},
		{"a root outranks an earlier cascade", []Finding{{Verdict: Retry, Role: RoleCascade, At: at(1)}, {Verdict: Fatal, Role: RoleRoot, At: at(9)}}, 1},
		{"a suspect outranks a cascade", []Finding{{Verdict: Retry, Role: RoleCascade, At: at(1)}, {Verdict: Retry, Role: RoleSuspect, At: at(2)}}, 1},
		{"who was stopped is not it", []Finding{{Verdict: Retry, Role: RoleNone, At: at(1)}, {Verdict: Retry, Role: RoleCascade, At: at(2)}}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Cause(tt.in); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// report builds what torchrun prints about failed ranks, the last of which it calls the root cause.
func report(failures ...string) string {
	var b strings.Builder
	b.WriteString("E1121 11:55:35.652000 2976 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 3) local_rank: 1 (pid: 2996) of binary: /usr/bin/python3\n" +
		"Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n" +
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n============\nw.py FAILED\n------------\nFailures:\n")
	for i, f := range failures {
		if i == len(failures)-1 {
			b.WriteString("------------\nRoot Cause (first observed failure):\n")
		}
		fmt.Fprintf(&b, "[%d]:\n%s", i, f)
	}
	b.WriteString("============\n")
	return b.String()
}

func failure(rank, code int, second int, traceback string) string {
	return fmt.Sprintf("  time      : 2026-11-21_11:55:%02d\n  host      : localhost\n  rank      : %d (local_rank: %d)\n"+
		"  exitcode  : %d (pid: 2996)\n  error_file: <N/A>\n  traceback : %s\n", second, rank, rank, code, traceback)
}

const noTraceback = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"

func TestJudgeTorchrun(t *testing.T) {
	gloo := "[rank1]: RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:33"
	tests := []struct {
		name    string
		outcome Outcome
		verdict Verdict
		code    int
		reason  string
		rank    int
		says    string
	}{
		{"a rank that was killed", exited(1).printing(report(failure(1, -9, 35, "Signal 9 (SIGKILL) received by PID 2996"))),
			Retry, 137, "KilledBySIGKILL", 1, "rank 1 was killed by SIGKILL (the launcher exited 1)"},
		{"a rank that was killed for memory", exited(1).printing(report(failure(1, -9, 35, "Signal 9 (SIGKILL) received by PID 2996"))).
			with(func(o *Outcome) { o.OOMKills = 1 }), Retry, 137, "OOMKilled", 1, "memory"},
		{"a rank's own code", exited(1).printing(report(failure(0, 3, 35, noTraceback))), Fatal, 3, "Error", 0, "rank 0 exited 3"},
		{"an exception that was recorded", exited(1).printing(report(failure(1, 1, 35, "Traceback (most recent call last):\n    File \"w.py\", line 3\n  ValueError: boom"))),
			Fatal, 1, "Error", 1, "ValueError: boom"},
		{"a cascade beside the cause", exited(1).printing(gloo, report(failure(1, 1, 35, noTraceback), failure(0, -9, 35, "Signal 9 (SIGKILL) received by PID 1"))),
			Retry, 137, "KilledBySIGKILL", 0, ""},
		{"the cascade was observed first", exited(1).printing(gloo, report(failure(0, -9, 36, "Signal 9 (SIGKILL) received by PID 1"), failure(1, 1, 35, noTraceback))),
			Retry, 137, "KilledBySIGKILL", 0, ""},
		{"somebody ended a rank", exited(1).printing(report(failure(0, -15, 35, "Signal 15 (SIGTERM) received by PID 1"))), Retry, 143, "KilledBySIGTERM", 0, ""},
		{"a signal from outside that torchrun got directly", exited(1).printing("torch.distributed.elastic.multiprocessing.api.SignalException: Process 1 got signal: 2"), Preempted, 130, "Preempted", -1, ""},
		{"torchrun closing the others is not it", exited(1).printing(report(failure(0, -15, 35, "Signal 15 (SIGTERM) received by PID 1"), failure(1, 7, 35, noTraceback))),
			Fatal, 7, "Error", 1, ""},
		{"within a second, a bare code explains less", exited(1).printing(report(failure(1, 1, 35, noTraceback), failure(0, -11, 35, "Signal 11 (SIGSEGV) received by PID 1"))),
			Retry, 139, "KilledBySIGSEGV", 0, ""},
		{"only a cascade is known", exited(1).printing(gloo, report(failure(1, 1, 35, noTraceback))), Retry, 210, "PeerLost", 1, ""},
		{"the kernel killed one, the other aborted first", exited(1).printing(report(failure(1, -9, 36, "Signal 9 (SIGKILL) received by PID 1"), failure(0, -6, 35, "Signal 6 (SIGABRT) received by PID 1"))).
			with(func(o *Outcome) { o.OOMKills = 1 }), Retry, 137, "OOMKilled", 1, ""},
		{"a launcher in a shell", exited(1).printing("starting", report(failure(2, -6, 35, "Signal 6 (SIGABRT) received by PID 1")), "bye"),
			Retry, 134, "KilledBySIGABRT", 2, ""},
		{"a code that says retry needs no report", exited(137).printing(report(failure(1, 3, 35, noTraceback))), Retry, 137, "Error", -1, ""},
		{"the launcher itself was killed", killed(9).printing(report(failure(1, 3, 35, noTraceback))), Retry, 137, "KilledBySIGKILL", -1, ""},
		{"a report of which nothing can be read", exited(1).printing("ValueError: boom", report(failure(0, 999, 35, noTraceback))), Fatal, 1, "Error", -1, ""},
		{"a rank whose code cannot be read did not succeed", exited(1).printing(gloo, report(failure(0, 999, 34, noTraceback), failure(1, -9, 35, noTraceback))),
			Retry, 137, "KilledBySIGKILL", 1, ""},
		{"a rank that was stopped, and one whose code cannot be read", exited(1).printing(gloo[len("[rank1]: "):], report(failure(0, -15, 34, noTraceback), failure(1, 999, 35, noTraceback))).
			with(func(o *Outcome) { o.ErrorFile = []byte(`{"message":"ValueError: boom"}`) }), Fatal, 1, "Error", -1, "ValueError: boom"},
		{"a report whose start is cut off still tells", exited(1).printing("  rank      : 0 (local_rank: 0)", report(failure(1, -9, 35, ""))),
			Retry, 137, "KilledBySIGKILL", 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Judge(tt.outcome, BuiltinRules())
			if f.Verdict != tt.verdict || f.Code != tt.code || f.Reason != tt.reason || f.Rank != tt.rank {
				t.Errorf("got %s %d %s rank %d, want %s %d %s rank %d\n%+v", f.Verdict, f.Code, f.Reason, f.Rank,
					tt.verdict, tt.code, tt.reason, tt.rank, f)
			}
			if !strings.Contains(f.Message, tt.says) {
				t.Errorf("message %q does not say %q", f.Message, tt.says)
			}
			if f.Signal == 0 && (f.WorkerCode == nil || *f.WorkerCode != tt.outcome.Status.Code) {
				t.Errorf("the worker's own code is lost: %+v", f.WorkerCode)
			}
		})
	}
}

func FuzzJudge(f *testing.F) {
	f.Add(1, []byte(report(failure(0, -9, 1, "x"), failure(1, 1, 1, noTraceback))), []byte(`{"message":"x"}`))
	f.Add(0, []byte("Traceback (most recent call last):\nX: y"), []byte(`{"message":{"message":"x","extraInfo":{"timestamp":"1"}}}`))
	f.Fuzz(func(t *testing.T, code int, output, errorFile []byte) {
		code &= 255
		o := exited(code)
		o.Output, o.ErrorFile = output, errorFile
		o.meter = newMeter(len(output) + len(errorFile))
		got := Judge(o, BuiltinRules())
		if o.meter.spent > perByte*(len(output)+len(errorFile))+allowance {
			t.Errorf("%d bytes were looked at in an output of %d", o.meter.spent, len(output))
		}
		switch got.Verdict {
		case Success, Retry, Fatal:
			if CodeVerdict(got.Code) != got.Verdict {
				t.Errorf("code %d does not say %s", got.Code, got.Verdict)
			}
		case Preempted:
			if got.Code <= 128 || got.Code > 128+sigmax {
				t.Errorf("preempted with %d", got.Code)
			}
		default:
			t.Errorf("verdict %q", got.Verdict)
		}
		if got.Code < 0 || got.Code > 255 {
			t.Errorf("code %d", got.Code)
		}
	})
}
