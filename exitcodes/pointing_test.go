package exitcodes

import (
	"strings"
	"testing"
)

// TestWhoTellsWhy has the exception that ended a program say less than a line, or an exception, before it.
func TestWhoTellsWhy(t *testing.T) {
	const stack = "Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in <module>\n    main()\n  File \"/app/x.py\", line 9, in main\n    step()\n"
	const during = "\nDuring handling of the above exception, another exception occurred:\n\n"
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
		says    string
	}{
		"interrupted, then a pipe closed":               {"[2024-05-06 17:13:31,668] torch.distributed.elastic.multiprocessing.api: [WARNING] Sending process 7 closing signal SIGINT\n" + stack + "KeyboardInterrupt\n" + stack + "BrokenPipeError: [Errno 32] Broken pipe\n", Preempted, "KeyboardInterrupt"},
		"a bug after an interrupt of something else":    {stack + "KeyboardInterrupt\n" + stack + "TypeError: f() missing 1 argument\n", Fatal, "TypeError"},
		"what was raised while it handled a SIGTERM":    {stack + "trainlib.SIGTERMException\n" + during + stack + "RuntimeError: store->get('0') got error: Connection reset by peer\n", Preempted, "SIGTERMException"},
		"who sent that SIGTERM":                         {"Spot instance interruption notice received: {}\n" + stack + "trainlib.SIGTERMException\n", Preempted, "Spot instance"},
		"it points at a stack":                          {stack + "ValueError: heads (28) must be divisible by 8\n" + stack + "RuntimeError: Engine process failed to start. See stack trace for the root cause.\n", Fatal, "heads (28)"},
		"it tells that all threads are gone":            {"E1118 23:04:02.119901 87 load.py:166] thread 2 died\n" + stack + "OSError: [Errno 107] Transport endpoint is not connected: '/gcs/a'\n" + stack + "RuntimeError: all prefetch threads have exited\n", Retry, "Errno 107"},
		"a write that failed first":                     {stack + "OSError: [Errno 5] Input/output error\n" + during + stack + "RuntimeError: [enforce fail at inline_container.cc:424] . unexpected pos 8123904448 vs 8123904336\n", Retry, "Errno 5"},
		"torch's own write that failed first":           {stack + "RuntimeError: [enforce fail at inline_container.cc:783] . PytorchStreamWriter failed writing file data/41: file write failed\n" + during + stack + "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 1234567 vs 1234455\n", Retry, "data/41"},
		"a full disk before both":                       {stack + "OSError: [Errno 28] No space left on device\n" + during + stack + "RuntimeError: [enforce fail at inline_container.cc:783] . PytorchStreamWriter failed writing file data/41: file write failed\n" + during + stack + "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 1234567 vs 1234455\n", Fatal, "No space left"},
		"others wait for it in vain":                    {"[rank0]: " + strings.ReplaceAll(stack, "\n", "\n[rank0]: ") + "RuntimeError: your module has parameters that were not used\n[rank1]:[E ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=31, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800601 milliseconds before timing out.\n", Fatal, "parameters that were not used"},
		"a driver that does not answer":                 {"Failed to initialize NVML: Unknown Error\n" + stack + "ValueError: fp16 mixed precision requires a GPU (not 'cpu').\n", Retry, "NVML"},
		"no GPU, and a driver that said nothing":        {stack + "ValueError: fp16 mixed precision requires a GPU (not 'cpu').\n", Fatal, "requires a GPU"},
		"TensorFlow's record before a cut traceback":    {"ERROR:tensorflow:Error recorded from training_loop: Error executing an HTTP request: HTTP response code 503 with body '{\n  \"error\": {\n    \"code\": 503\n  }\n}\n'\nINFO:tensorflow:training_loop marked as finished\nWARNING:tensorflow:Reraising captured error\n" + stack, Retry, "HTTP response code 503"},
		"torchrun stops a rank after its store is gone": {"The node 'gpu13_40012_0' has failed to send a keep-alive heartbeat to the rendezvous '90021' due to an error of type RendezvousConnectionError.\nClosing process 40080 via signal SIGTERM\n", Retry, "RendezvousConnectionError"},
		"the bug that another exception passes on":      {stack + "json.decoder.JSONDecodeError: Extra data: line 64 column 2 (char 63)\n\nThe above exception was the direct cause of the following exception:\n\n" + stack + "datasets.DatasetGenerationError: An error occurred while generating the dataset\n", Fatal, "Extra data"},
		"ignored, without a traceback":                  {stack + "etcd.EtcdConnectionFailed: Connection to etcd failed\nException ignored in: <function Handler.__del__ at 0x7f5a>\nAttributeError: 'NoneType' object has no attribute 'set'\n", Retry, "EtcdConnectionFailed"},
		"a launcher's cut traceback":                    {stack + "ValueError: bad shape\nWARNING:torch.distributed.elastic.multiprocessing.api:Sending process 47710 closing signal SIGTERM\nERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 2 (pid: 47712) of binary: /bin/python3\nTraceback (most recent call last):\n  File \"/usr/lib/python3.9/runpy.py\", line 197, in _run_module_as_main\n    return _run_code(code, main_globals, None,\nwandb: Waiting for W&B process to finish... (failed 1).\n", Fatal, "bad shape"},
		"Lightning passes on a bug":                     {stack + "KeyError: 'attention_mask'\n" + during + stack + "lightning.exceptions.DeadlockDetectedException: DeadLock detected from rank: 1 \n", Fatal, "attention_mask"},
		"a whole excerpt that is indented":              {"  2022-09-07 07:32:12.549446: W tensorflow/core/distributed_runtime/rpc/grpc_remote_master.cc:157] RPC failed with status = \"UNAVAILABLE: Socket closed\" and grpc_error_string = x\n" + strings.Repeat("  2022-09-07 07:32:31.725774: E tensorflow/compiler/xla/xla_client/xla_util.cc:88] *** Begin stack trace ***\n", 6), Retry, "Socket closed"},
		"a given model that is broken":                  {stack + "  File \"/app/model.py\", line 23, in __init__\n    with safe_open(args.model_path) as f:\nsafetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge\n", Fatal, "HeaderTooLarge"},
		"an upload that can be begun again":             {stack + "GoogleAPICallError: 410 PUT https://g.com/upload/o?uploadType=resumable&upload_id=AEn: Backend Error\n", Retry, "410 PUT"},
		"torch's mark without brackets":                 {"rank3:   File \"/app/a.py\", line 7, in f\nrank3:     g()\nrank3:   File \"/app/a.py\", line 9, in g\nrank3: Exception: data did not match any variant\nrank6:[rank6]:[E ProcessGroupNCCL.cpp:563] [Rank 6] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800318 milliseconds before timing out.\n", Fatal, "any variant"},
		"a bug in a task of Spark's":                    {"24/05/16 03:18:56 WARN TransportChannelHandler: Exception in connection from /10.0.3.14:41022\njava.io.IOException: Connection reset by peer\n\tat io.netty.A.run(A.java:562)\n24/05/16 03:18:57 ERROR Train: the job was aborted due to \norg.apache.spark.SparkException: Job aborted due to stage failure: Task 31 in stage 12.0 failed 4 times, most recent failure: Lost task 31.3 in stage 12.0 (TID 4431) (ip-10-0-3-9 executor 7): java.lang.NumberFormatException: For input string: \"N/A\"\n\tat a.B.c(B.java:2054)\n", Fatal, "NumberFormatException"},
		"torchrun was told to stop":                     {"WARNING:torch.distributed.elastic.agent.server.api:Received 2 death signal, shutting down workers\nWARNING:torch.distributed.elastic.multiprocessing.api:Sending process 804411 closing signal SIGINT\n" + stack, Preempted, "death signal"},
		"and what a destructor says then":               {"W0702 09:33:51.414000 118 torch/distributed/elastic/agent/server/api.py:739] Received 2 death signal, shutting down workers\nW0702 09:33:51.414000 118 torch/distributed/elastic/multiprocessing/api.py:1012] Sending process 1180217 closing signal SIGINT\nException ignored in atexit callback: <function f at 0x7f5a>\nTraceback (most recent call last):\n  File \"/lib/data/dataloader.py\", line 1703, in _clean_up_worker\n    w.join()\n  File \"/lib/process.py\", line 149, in join\n", Preempted, "death signal"},
		"a warning, and then its destructor":            {"/lib/x.py:7: UserWarning: slow\n" + stack + "requests.exceptions.ConnectionError: HTTPConnectionPool(host='h', port=80): Max retries exceeded\nException ignored in: <function f at 0x7f5a>\nTraceback (most recent call last):\n  File \"/lib/a.py\", line 14, in __del__\n    self.stop()\nAttributeError: 'NoneType' object has no attribute 'is_set'\n", Retry, "Max retries"},
		"numbered lines":                                {"[11] a\n[12] b\n[13] c\n[14] [rank4]:[E602 11:18:52.531176265 ProcessGroupNCCL.cpp:684] [Rank 4] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent\n[15] [rank4]:[E602 11:18:52.531247012 ProcessGroupNCCL.cpp:698] [Rank 4] To avoid data inconsistency, we are taking the entire process down.\n[16] [rank4]:[E602 11:18:52.536602063 ProcessGroupNCCL.cpp:1896] [PG ID 1 PG GUID 1 Rank 4] Process group watchdog thread terminated with exception: [Rank 4] Watchdog\n", Retry, "watchdog thread terminated"},
		"Open MPI's advice without its last rule":       {"ssh: Could not resolve hostname mpic-worker-0: Temporary failure in name resolution\n--------------------------------------------------------------------------\nORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n\n* lack of authority to execute on one or more specified nodes.\n  Please check network connectivity (including firewalls\n", Retry, "mpic-worker-0"},
		"a person's key beside what it did":             {"^CException ignored in: <bound method _DataLoaderIter.__del__ of <x>>\n" + stack, Preempted, "^C"},
		"another rank's cut copy":                       {stack + "RuntimeError: NCCL error in: /opt/torch/lib/c10d/ProcessGroupNCCL.cpp:388, invalid argument\n" + stack + "RuntimeError: NCCL error in: /opt/torch/l", Fatal, "invalid argument"},
		"a name in source":                              {"thread 'main' panicked at src/prover.rs:154:66:\ncalled `Result::unwrap()` on an `Err` value: Protocol(ResetWithoutClosingHandshake)\n", Retry, "ResetWithoutClosingHandshake"},
	} {
		o := exited(1)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q, want %s: %s", name, f.Verdict, f.Rule, tt.verdict, f.Evidence)
		}
	}
}

// TestPassedOnWithoutEnd has every one of many exceptions pass on another's: each is read once, and not all that stand before it again.
func TestPassedOnWithoutEnd(t *testing.T) {
	var b strings.Builder
	for range 400 {
		b.WriteString("Traceback (most recent call last):\n  File \"/app/a.py\", line 7, in <module>\n    f()\nRuntimeError: Engine core initialization failed. See root cause above.\n")
	}
	o := exited(1)
	o.Output = []byte(b.String())
	if f := Judge(o, BuiltinRules()); f.Verdict != Fatal {
		t.Errorf("%s by %q", f.Verdict, f.Rule)
	}
}

// TestOwnErrors has programs say in their own words what sounds like somebody else's.
func TestOwnErrors(t *testing.T) {
	const refused = "telemetry: dial tcp 10.0.0.1:80: connect: connection refused\n"
	const stack = "Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in <module>\n    main()\n"
	for name, tt := range map[string]struct {
		code    int
		output  string
		verdict Verdict
		says    string
	}{
		"a code, and why":                {3, refused + "License check failed with error code 3: seat limit of team A exceeded\n", Fatal, "seat limit"},
		"threads, and why":               {1, refused + "2 loader threads exited: bad schema in column 3\n", Fatal, ""},
		"a file, and why":                {1, refused + "1 file failed to download: no such key in the manifest\n", Fatal, "manifest"},
		"its own exception, and where":   {1, "Traceback (most recent call last):\n  File \"/app/t.py\", line 7, in f\n    g()\nConnectionRefusedError: [Errno 111] Connection refused\n" + stack + "ValueError: 3 unknown keys in config.yaml, see output above\n", Fatal, "3 unknown keys"},
		"a loss that is inferred":        {7, "The loss is inferred from the labels\nreading config\ncurl: (7) Failed to connect to data port 80: Connection refused\n", Retry, "curl"},
		"an expression":                  {1, "^CUDA_HOME must be set in env.sh\n", Fatal, ""},
		"a directory's name":             {1, "Traceback (most recent call last):\n  File \"/home/u/next-word-prediction/train.py\", line 7, in <module>\n    state = torch.load(path)\n  File \"/lib/torch/serialization.py\", line 9, in __init__\n    f()\nRuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory\n", Retry, "zip archive"},
		"an option named after a device": {1, "/lib/torch/cuda/__init__.py:118: UserWarning: CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable\n" + stack + "ValueError: option --no cuda is deprecated and was removed\n", Fatal, "--no cuda"},
		"an interrupt, and another run":  {1, stack + "KeyboardInterrupt\nevaluation skipped by the operator, now training\n" + stack + "mylib.ConfigInvalid: 3 unknown keys in config.yaml\n", Fatal, "3 unknown keys"},
		"copied at the second try":       {1, "download failed: s3://b/k to ./k Connection reset by peer\nCompleted 1 MiB/1 MiB\ndownload: s3://b/k to ./k\nconfig.yaml has 3 entries, 4 wanted\n", Fatal, ""},
	} {
		o := exited(tt.code)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q, want %s: %s", name, f.Verdict, f.Rule, tt.verdict, f.Evidence)
		}
	}
}
