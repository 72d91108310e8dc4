package exitcodes

import (
	"strings"
	"testing"
)

// TestHorovodrun has the ranks of a launcher say why they ended before it tells with which codes they did.
func TestHorovodrun(t *testing.T) {
	const (
		frames = "[0]<stderr>:Traceback (most recent call last):\n[0]<stderr>:  File \"train.py\", line 71, in <module>\n[0]<stderr>:    main()\n"
		uninit = frames + "[0]<stderr>:ValueError: Horovod has not been initialized; use hvd.init().\n"
		mesh   = "[0]<stderr>:[2022-06-28 02:16:50.100182: E /tmp/horovod/common/gloo/gloo_context.cc:156] Gloo connectFullMesh failed, error: [gloo/transport/tcp/pair.cc:799] connect [10.31.0.7]:21088: Connection refused\n"
		codes  = "Process 0 exit with status code 1.\nTerminating remaining workers after failure of Process 0.\nProcess 1 exit with status code 134.\nProcess 2 exit with status code 134.\nProcess 3 exit with status code 134.\n"
		report = "Traceback (most recent call last):\n  File \"/usr/local/bin/horovodrun\", line 8, in <module>\n    sys.exit(run_commandline())\nRuntimeError: Horovod detected that one or more processes exited with non-zero status, thus causing the job to be terminated. The first process to do so was:\nProcess name: 0\nExit code: 1\n"
		lost   = frames + "[0]<stderr>:horovod.common.exceptions.HorovodInternalError: ncclCommGetAsyncError failed: unhandled system error\n"
	)
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
		says    string
	}{
		"codes are no work":           {frames + "[0]<stderr>:AttributeError: module 'horovod.torch' has no attribute 'Adasumm'\n" + codes + report, Fatal, "Adasumm"},
		"what it could not set up":    {mesh + uninit + report, Retry, "connectFullMesh failed"},
		"what nobody had set up":      {uninit + report, Fatal, "has not been initialized"},
		"another rank's":              {strings.ReplaceAll(mesh, "[0]", "[1]") + uninit + report, Fatal, "has not been initialized"},
		"whom the launcher has ended": {lost + codes + "[0]<stderr>:Terminated\n" + report, Retry, "ncclCommGetAsyncError"},
	} {
		f := Judge(exited(1).printing("[0]<stdout>:step 7 loss 2.1\n"+tt.output), BuiltinRules())
		if f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}

// TestHorovodLevel has Horovod write its levels as letters, behind the time.
func TestHorovodLevel(t *testing.T) {
	for letter, want := range map[string]level{"E": levelError, "W": levelWarning, "I": levelInfo, "T": levelNone} {
		r := newReader(exited(1).printing("[0]<stderr>:[2022-06-28 02:16:50.100182: "+letter+" /tmp/horovod/stall_inspector.cc:107] ranks 6 and 7 are late"), BuiltinRules())
		if l := r.lines[0]; l.level != want || l.shown() != "ranks 6 and 7 are late" {
			t.Errorf("%s: level %d, %q", letter, l.level, l.text)
		}
	}
}

// What horovodrun says of a process that a signal killed tells more than its own end.
func TestHorovodrunTellsOfASignal(t *testing.T) {
	const raised = "Traceback (most recent call last):\n  File \"/usr/local/bin/horovodrun\", line 8, in <module>\n    sys.exit(run_commandline())\nRuntimeError: Horovod detected that one or more processes exited with non-zero status, thus causing the job to be terminated. The first process to do so was:\nProcess name: worker-1[0]\nExit code: "
	for code, verdict := range map[string]Verdict{"137": Retry, "1": Fatal} {
		if f := Judge(exited(1).printing("loading\n"+raised+code+"\n"), BuiltinRules()); f.Verdict != verdict {
			t.Errorf("%s: %s by %q: %s", code, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
