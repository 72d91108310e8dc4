package exitcodes

import (
	"strings"
	"testing"
)

// TestForeignTraces has programs of other languages say what they ended of, with the frames that they print under it.
func TestForeignTraces(t *testing.T) {
	const (
		spark  = "Exception in thread \"main\" org.apache.spark.SparkException: Job aborted due to stage failure: "
		frames = "\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2719)\n\t... 12 more\n"
		trace  = "Stacktrace:\n [1] wait\n   @ Base ./stream.jl:941\n"
		curl   = "curl: (56) OpenSSL SSL_read: Connection reset by peer, errno 104\n"
		script = "fetch.sh: could not fetch weights.bin\n"
	)
	for name, tt := range map[string]struct {
		code    int
		output  string
		verdict Verdict
		says    string
	}{
		"java: an executor is lost": {1, spark + "Could not recover from a failed barrier ResultStage.\n" +
			"ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: Remote RPC client disassociated.\n" + frames, Retry, "ExecutorLostFailure"},
		"java: a shuffle is lost": {1, spark + "ResultStage 31 has failed: org.apache.spark.shuffle.MetadataFetchFailedException: Missing an output location\n" + frames, Retry, "FetchFailed"},
		"java: as a page shows it": {1, "java.lang.RuntimeException: Failed construction of Regionserver\nat org.apache.hadoop.hbase.A.main(A.java:7)\n" + strings.Repeat("\nCaused by: java.lang.reflect.InvocationTargetException\nat org.apache.hadoop.hbase.A.run(A.java:9)\n... 5 more\n", 3) +
			"\nCaused by: java.net.BindException: Address already in use\nat sun.nio.ch.Net.bind(Net.java:463)\n... 15 more\n", Retry, "Address already in use"},
		"java: another's line within": {1, "Exception in thread \"main\" 26/12/24 12:00:25 INFO cluster.Backend: Add WebUI Filter.\njava.net.ConnectException: Connection refused\n" + frames + "26/12/24 12:00:26 INFO ui.JettyUtils: Adding filter\n", Retry, "Connection refused"},
		"java: a bug":                 {1, spark + "Task 0 failed 4 times: java.lang.IndexOutOfBoundsException: 0\n" + frames, Fatal, "IndexOutOfBounds"},
		"java: a fetch of a file":     {1, "Exception in thread \"main\" org.acme.PageFetchFailed: no such page\n" + frames, Fatal, "no such page"},
		"julia: a worker is gone": {1, "Unhandled Task ERROR: EOFError: read end of file\n" + trace + "Unhandled Task ERROR: IOError: read: closed\n" + trace +
			"ERROR: LoadError: ProcessExitedException(8)\n" + trace + "in expression starting at /app/run.jl:91\n", Retry, "ProcessExitedException(8)"},
		"julia: a bug":                   {1, "ERROR: LoadError: BoundsError: attempt to access 3-element Vector at index [4]\n" + trace, Fatal, "BoundsError"},
		"rust, in one line: a reset":     {101, "thread 'main' panicked at 'called `Result::unwrap()` on an `Err` value: Os { code: 104, kind: ConnectionReset }', src/main.rs:9:3\n", Retry, "ConnectionReset"},
		"rust, in one line: a short one": {101, "thread 'main' panicked at 'hyper::Error(Body, Custom { kind: UnexpectedEof, error: IncompleteBody })', src/main.rs:9:3\n", Retry, "IncompleteBody"},
		"rust, in one line: a file":      {101, "thread 'main' panicked at 'reading a.bin: Custom { kind: UnexpectedEof, error: \"failed to fill whole buffer\" }', src/main.rs:9:3\n", Fatal, "whole buffer"},
		"rust, in one line: a key":       {101, "thread 'main' panicked at 'called `Result::unwrap()` on an `Err` value: InvalidPublicKey', src/main.rs:9:3\n", Fatal, "InvalidPublicKey"},
		"R: a server":                    {1, "Error in `req_perform()`:\n! Timeout was reached [a.example.org]: Operation timed out\nBacktrace:\n    x\nExecution halted\n", Retry, "Timeout was reached"},
		"R: a bug":                       {1, "Error in `fit()`:\n! object 'lr' not found\nBacktrace:\n    x\nExecution halted\n", Fatal, "not found"},
		"a command and its code":         {56, curl + script, Retry, "Connection reset by peer"},
		"another's number":               {5, "store: attempt (5): connection refused\ntrain: ERROR: no such dataset: foo\n", Fatal, "no such dataset"},
		"a number further on":            {3, "push metrics failed (3): connection refused\ntrain: invalid config: no such key lr\n", Fatal, "no such key"},
		"a cause below an error":         {1, "error: fetch\n  at connect: connection refused (10.0.0.5:80)\n", Retry, "connection refused"},
		"a call below an error":          {1, "error: fetch\n  at connect (connection refused)\n", Retry, "connection refused"},
		"numbered causes":                {1, "2 problems:\n  [1] connection refused by 10.0.0.5:80\n", Retry, "connection refused"},
		"node: a server":                 {1, "Error: connect ECONNREFUSED 10.0.0.5:80\n    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1494:16)\n    at async main (/app/run.js:7:3)\n", Retry, "ECONNREFUSED"},
		"julia: its frames":              {1, "fetch: dial tcp 10.0.0.5:80: connection refused\nStacktrace:\n [1] failed to parse(x)\n   @ Base ./stream.jl:941\n", Retry, "connection refused"},
		"a command and another code":     {1, curl + script, Fatal, "could not fetch"},
		"a name server":                  {1, "list: dial tcp: lookup a.example.com on 10.96.0.10:53: read udp 10.0.0.4:4->10.96.0.10:53: i/o timeout\n", Retry, "i/o timeout"},
		"a host":                         {1, "list: dial tcp 10.0.0.9:80: connect: no route to host\n", Retry, "no route"},
		"a route":                        {1, "planner: no route to goal\n", Fatal, ""},
		"a timeout of its own":           {1, "error: invalid io timeout 0\n", Fatal, "invalid io timeout"},
	} {
		o := exited(tt.code)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}

// TestUnreached tells a URL that a library calls absent because its server did not answer from one that is, and from a file.
func TestUnreached(t *testing.T) {
	const (
		tried = "'(ReadTimeoutError(\"HTTPSConnectionPool(host='hub.example.org', port=443): Read timed out. (read timeout=10)\"))' thrown while requesting GET https://hub.example.org/a\nRetrying in 8s [Retry 5/5].\n"
		head  = "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n    raise FileNotFoundError(file)\n"
		url   = "FileNotFoundError: zstd://a.jsonl::hf://datasets/acme/a@2d0a/a.jsonl.zst\n"
		file  = "FileNotFoundError: data/a.jsonl\n"
	)
	others := strings.Repeat("loading\nof shards\n", 6)
	for output, want := range map[string]Verdict{
		tried + head + url:          Retry,
		head + url:                  Fatal,
		tried + head + file:         Fatal,
		tried + others + head + url: Fatal,
	} {
		o := exited(1)
		o.Output = []byte(output)
		if f := Judge(o, BuiltinRules()); f.Verdict != want {
			t.Errorf("%s by %q: %s\n%s", f.Verdict, f.Rule, f.Message, output)
		}
	}
}

// TestFailedStatus has a call of CUDA's say its status as TensorFlow prints it.
func TestFailedStatus(t *testing.T) {
	for status, want := range map[string]Verdict{
		"initialization error": Retry,
		"CUDA driver version is insufficient for CUDA runtime version": Fatal,
		"no kernel image is available for execution on the device":     Fatal,
	} {
		o := exited(1)
		o.Output = []byte("Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n    main()\n" +
			"tensorflow.python.framework.errors_impl.InternalError: cudaGetDevice() failed. Status: " + status + "\n")
		if f := Judge(o, BuiltinRules()); f.Verdict != want {
			t.Errorf("%s: %s by %q", status, f.Verdict, f.Rule)
		}
	}
	for call, want := range map[string]Verdict{"hipGetDevice": Retry, "cudart.cudaGetDevice": Retry,
		"buildCudaGraph": Fatal, "cuda_loader.parse": Fatal, "relationship": Fatal, "cudagraphs": Fatal} {
		o := exited(1)
		o.Output = []byte("Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n    main()\n" +
			"RuntimeError: " + call + "() failed. Status: shape mismatch 3 vs 4\n")
		if f := Judge(o, BuiltinRules()); f.Verdict != want {
			t.Errorf("%s: %s by %q", call, f.Verdict, f.Rule)
		}
	}
}
