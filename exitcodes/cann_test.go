package exitcodes

import (
	"strings"
	"testing"
)

// TestUnderACode has Ascend's CANN tell below its code why an operation failed, so deep that it looks like source.
func TestUnderACode(t *testing.T) {
	const (
		frames  = "Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in <module>\n    main()\n"
		section = "\n----------------------------------------------------\n- Ascend Error Message:\n----------------------------------------------------\nEZ9999: Inner Error!\nEZ9999: 2024-01-05-02:11:31.102.118  there is an aicore error exception, core id is 11\n        TraceBack (most recent call last):\n"
		broken  = "        rtStreamSynchronize execute failed, reason=[device mem error][FUNC:FuncErrorReason][FILE:error_message_manage.cc][LINE:53]\n"
		points  = "RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the current working operator name is HcclAllReduce.\n"
		waited  = "EI0002: 2024-05-28-22:17:50.996.281 The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank [14].\n"
	)
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
		says    string
	}{
		"a broken memory":             {frames + "RuntimeError: Exec graph failed\n" + section + broken, Retry, "device mem error"},
		"what is only source":         {frames + "RuntimeError: Exec graph failed\n\n" + "Its kernel:\n" + broken, Fatal, "Exec graph failed"},
		"an operator that is not":     {frames + "RuntimeError: Run:OpParamMaker.h:252 NPU error,NPU error code is:500002\nEZ3003: No supported Ops kernel and engine are found for [Einsum7], optype [Einsum].\n        Op type Einsum of ops kernel AIcoreEngine is unsupported, reason : The dtype of op is not supported\n", Fatal, "Op type Einsum"},
		"an error that only points":   {frames + points + "[ERROR] 2024-05-28-22:17:51 (PID:221907, Device:3, RankID:11) ERR00100 PTA call acl api failed\n" + waited + "        Notify wait execute failed, device_id=3, stream_id=1107\n        synchronize stream failed, runtime result = 507011[FUNC:ReportCallError][FILE:log_inner.cpp][LINE:161]\n", Retry, "Notify register"},
		"with nothing to point at":    {frames + points, Retry, "HcclAllReduce"},
		"a missing rank, and no more": {waited, Retry, "Notify register"},
	} {
		f := Judge(exited(1).printing("step 7 loss 2.1\n"+tt.output), BuiltinRules())
		if f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
