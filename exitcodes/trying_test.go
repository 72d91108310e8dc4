package exitcodes

import (
	"strings"
	"testing"
)

// TestEndsInATraceback has an output end before the exception is named, and something said before it; the rest has nothing of the
// kind, and is unknown.
func TestEndsInATraceback(t *testing.T) {
	const cut = "Traceback (most recent call last):\n  File \"/app/train.py\", line 77, in main\n    run = wandb.init(project=\"p\")\n"
	for name, tt := range map[string]struct {
		printed string
		verdict Verdict
		says    string
	}{
		"a tracker":              {"wandb: Network error (ReadTimeout), entering retry loop.\nwandb: ERROR Run initialization has timed out after 90.0 sec.\nwandb: ERROR Please refer to the documentation\n" + cut, Retry, "timed out after 90.0 sec"},
		"a device":               {"Exception in device=TPU:7: mesh_service.cc:377 : Failed to meet rendezvous 'save': Socket closed (14)\n" + cut, Retry, "Socket closed (14)"},
		"a tracker, and others":  {"wandb: ERROR Run initialization has timed out after 90.0 sec.\nepoch 3 begins now\n" + cut, Fatal, "exited 1"},
		"a tracker alone":        {"wandb: ERROR Run initialization has timed out after 90.0 sec.\n", Fatal, "exited 1"},
		"without it":             {"warning: connection refused by the cache, working without it\n" + cut, Fatal, "exited 1"},
		"an exception after all": {"wandb: ERROR Run initialization has timed out after 90.0 sec.\n" + cut + "ValueError: heads must divide hidden\n", Fatal, "heads must divide hidden"},
		"Ray's memory monitor":   {"(raylet) [2025-04-02 15:02:00,117 E 135782 135782] (raylet) node_manager.cc:3069: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 351e40, IP: 10.0.0.1)\n(raylet) \n(raylet) Refer to the documentation on how to address the out of memory issue: https://docs.ray.io/.\n" + cut, Retry, "memory pressure"},
		"an introduction":        {"Socket closed\nFeed error: " + cut, Retry, "Socket closed"},
		"an upload":              {"Unavailable: Unexpected response code 410\n\t when resuming upload gs://b/model.ckpt-1\n" + cut, Retry, "response code 410"},
		"an answer in lines":     {"ERROR:tensorflow:Error recorded from training_loop: Error executing an HTTP request: HTTP response code 503 with body '{\n" + strings.Repeat("  \"error\": {\n", 9) + "}\n'\n\t when initiating an upload to gs://b/model.ckpt-1\nINFO:tensorflow:training_loop marked as finished\nWARNING:tensorflow:Reraising captured error\n" + cut, Retry, "HTTP response code 503"},
		"no memory":              {"W tensorflow/core/common_runtime/executor.cc:1076] 0x18ef Compute status: Resource exhausted: OOM when allocating tensor with shape[3]\n\t [[Node: sub = Sub[T=DT_FLOAT](a, b)]]\n" + cut, Retry, "OOM when allocating"},
		"a library's, and more":  {"2026-01-15 03:14:05.518412: E tensorflow/core/platform/s3/aws_logging.cc:60] Curl returned error code 28\n2026-01-15 03:14:05.518413: W tensorflow/core/platform/s3/aws_logging.cc:57] Request failed, now waiting 6400 ms\n2026-01-15 03:14:09.518412: I tensorflow/core/platform/s3/aws_logging.cc:54] Connection released. Continuing.\n" + cut, Retry, "Curl returned error code 28"},
		"its margin lost":        {"Exception in device=TPU:6: Aborted: Session 9d9f is not found.\nTraceback (most recent call last):\nFile \"/app/train.py\", line 77, in main\nstart(index)\nFile \"/app/train.py\", line 9, in start\nxm.mark_step()\nFile \"/app/xla_mod", Retry, "Session 9d9f"},
		"a name, and a loop":     {"nslookup: can't resolve 'job-master-0': Name does not resolve\nwaiting for master\n\n" + cut, Retry, "job-master-0"},
		"TensorFlow's threads":   {"2026-01-15 15:00:32,554 INFO (Thread-4-2184) Error reported to Coordinator: /data/checkpoint.tmp1; Input/output error\n" + cut, Retry, "Input/output error"},
		"a bar with a metric":    {"Worker timed out after 120 seconds.\n150it [02:03, 1.2it/s, val_loss=8.89]\n" + cut, Retry, "timed out"},
		"information":            {"2026-01-15 15:00:32,554 INFO (Thread-4-2184) cache: Input/output error\n" + cut, Fatal, "exited 1"},
		"a bug":                  {"error: no such config: a.yaml\n" + cut, Fatal, "no such config"},
	} {
		t.Run(name, func(t *testing.T) {
			o := exited(1)
			o.Output = []byte("step 11 loss 0.167\n" + tt.printed)
			if f := Judge(o, BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Message, tt.says) {
				t.Errorf("%s by %q: %s", f.Verdict, f.Rule, f.Message)
			}
		})
	}
}

// TestEndsInANotebook has a traceback as IPython prints it lose its end: its head has the class of the exception.
func TestEndsInANotebook(t *testing.T) {
	const rule = "---------------------------------------------------------------------------\n"
	const frames = "/opt/conda/lib/python3.7/urllib/request.py in do_open(self, http_class, req, **http_conn_args)\n   1349                 h.request(req.get_method(), req.selector)\n-> 1350                           encode_chunked=True)\n"
	for class, want := range map[string]Verdict{"gaierror": Retry, "ConnectionResetError": Retry, "KeyError": Fatal, "RuntimeError": Fatal} {
		f := Judge(exited(1).printing("Fetching weights\n"+rule+class+"                                  Traceback (most recent call last)\n"+frames), BuiltinRules())
		if f.Verdict != want || want == Retry && !strings.HasPrefix(f.Evidence, class) {
			t.Errorf("%s: %s by %q: %s", class, f.Verdict, f.Rule, f.Message)
		}
	}
}

// TestWhileTrying is about a failure that is told as what somebody tried; that does not say it was got over.
func TestWhileTrying(t *testing.T) {
	const timeout = "The client socket has timed out after 1800000ms while trying to connect to (10.123.132.218, 38321).\n"
	for printed, want := range map[string]Verdict{
		"[E331 20:50:12.688969421 socket.cpp:1011] [c10d] " + timeout:                          Retry,
		"mirror a: connection refused, trying b\nmirror b: no such package\n":                  Fatal,
		"workers killed due to memory pressure (OOM), 0 crashed\nRefer to the documentation\n": Retry,
	} {
		o := exited(1)
		o.Output = []byte("Size of train dataloader: 29\n" + printed)
		if f := Judge(o, BuiltinRules()); f.Verdict != want {
			t.Errorf("%q: %s by %q: %s", printed, f.Verdict, f.Rule, f.Message)
		}
	}
}
