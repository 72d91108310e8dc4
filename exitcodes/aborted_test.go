package exitcodes

import "testing"

// TestAborted has programs and runtimes abort of what they tell: it comes again, unless it names what passes or is thrown for everything.
func TestAborted(t *testing.T) {
	const thrown = "terminate called after throwing an instance of '"
	for text, want := range map[string]Verdict{
		thrown + "cv::Exception'\n  what():  OpenCV(4.1.1) system.cpp:580: error: (-215:Assertion failed) Missing support for required CPU baseline features": Fatal,
		thrown + "Xbyak::Error'\n  what():  label is redefined":                                                                                                      Fatal,
		thrown + "paddle::platform::EnforceNotMet'\n  what():  holder_ should not be null":                                                                           Fatal,
		"libc++abi: terminating due to uncaught exception of type std::out_of_range: vector":                                                                         Fatal,
		"libc++abi.dylib: terminating with uncaught exception of type std::invalid_argument: stoi: no conversion":                                                    Fatal,
		"LLVM ERROR: Failed to infer result type(s).":                                                                                                                Fatal,
		"Unhandled exception. System.TypeInitializationException: The type initializer for 'Tensorflow.Keras.backend' threw an exception.":                           Fatal,
		"JNI DETECTED ERROR IN APPLICATION: negative buffer capacity: -80":                                                                                           Fatal,
		"F1126 10:00:00.000000 7 kv.cc:54] Check failed: getenv(\"DMLC_NUM_SERVER\") error: env DMLC_NUM_SERVER not set":                                             Fatal,
		"F1126 10:00:00.000000 7 net.cpp:54] Check failed: layer_data_hid >= 0 (-1 vs. 0) Error saving weights":                                                      Fatal,
		"2026-11-26 10:00:00.000000: F tensorflow/core/framework/tensor_shape.cc:201] Non-OK-status: InitDims(sizes) status: INVALID_ARGUMENT: Encountered overflow": Fatal,
		"ggml/src/ggml.c:21763: x\nGGML_ASSERT: ggml.c:21763: svcntb() == QK8_0":                                                                                     Fatal,

		thrown + "c10::Error'\n  what():  expected tensor shape does not match the argument of this layer":                                                                                         Fatal,
		thrown + "c10::Error'\n  what():  \"div_cpu\" not implemented for 'Half' (operator() at BinaryOpsKernel.cpp:65)":                                                                           Fatal,
		thrown + "std::runtime_error'\n  what():  [loadWords] Invalid line: _the":                                                                                                                  Fatal,
		thrown + "std::runtime_error'\n  what():  invalid line from the peer, connection reset":                                                                                                    Retry,
		thrown + "std::runtime_error'\n  what():  this custom template is not supported":                                                                                                           Fatal,
		"OpenCV Error: Assertion failed (elements_read == 1) in unknown function, file cvhaartraining.cpp, line 1859":                                                                              Fatal,
		"F1126 10:00:00.000000 7 net.cpp:277] Check failed: target_blobs[j]->width() == source_layer.blobs(j).width() \n(9216 vs. 4096) ":                                                          Fatal,
		"2026-11-26 10:00:00.000000: F tensorflow/core/platform/cpu_feature_guard.cc:35] The TensorFlow library was compiled to use SSE instructions, but these aren't available on your machine.": Fatal,
		"/src/llama-model.cpp:11885: fatal error":                                                                                                                                              Fatal,
		"Unsupported KV type combination for head_size 64.\n/src/ggml-cuda/fattn-common.cuh:567: fatal error":                                                                                  Fatal,
		"graph_compute: error: op not supported node_1586 (FLASH_ATTN_EXT)\n/src/ggml-sycl.cpp:4213: GGML_ASSERT(ok) failed":                                                                   Fatal,
		"CUDA error: invalid device function\n  current device: 0, in function ggml_cuda_compute_forward at ggml-cuda.cu:2304\n  err\nGGML_ASSERT: ggml/src/ggml-cuda.cu:100: !\"CUDA error\"": Fatal,

		"--> FOAM FATAL ERROR:\nattempt to run parallel on 1 processor\n\n    From function static bool UPstream::init(int&, char**&)\n\nFOAM aborting": Fatal,

		"ggml_malloc: failed to allocate 4096.00 MB\n/src/ggml.c:431: fatal error":  Retry,
		"/src/ggml-rpc.cpp:431: fatal error\nrecv failed: Connection reset by peer": Retry,
		"store.cc:431: fatal error": Retry,
		"GPU Direct RDMA is not supported, falling back\nrank 2: recv timed out\ncomm.cc:9: CCL_ASSERT(status == ok) failed":                            Retry,
		"F1126 10:00:00.000000 7 mesh.cc:54] Expected 8 nodes, got 7":                                                                                   Retry,
		"F1126 10:00:00.000000 7 mesh.cc:54] rank 3 has aborted":                                                                                        Retry,
		thrown + "std::runtime_error'\n  what():  world size must be 8, only 7 joined":                                                                  Retry,
		thrown + "std::runtime_error'\n  what():  NVML: Not Supported":                                                                                  Retry,
		thrown + "std::system_error'\n  what():  epoll is not supported":                                                                                Retry,
		"OpenCV Error: Assertion failed (u != 0) in create, file matrix.cpp, line 411":                                                                  Retry,
		"/src/ggml-sycl.cpp:4213: GGML_ASSERT(ok) failed":                                                                                               Retry,
		"2026-11-26 10:00:00.000000: F tensorflow/core/rpc.cc:201] the worker thread has stopped":                                                       Retry,
		"OpenCV Error: Insufficient memory (Failed to allocate 9 bytes) in OutOfMemoryError, file alloc.cpp, line 52":                                   Retry,
		thrown + "std::runtime_error'\n  what():  the connection's protocol is not supported by rank 3":                                                 Retry,
		thrown + "gloo::IoException'\n  what():  Wait timeout for key(s): 0":                                                                            Retry,
		thrown + "std::runtime_error'\n  what():  bad shard":                                                                                            Retry,
		thrown + "std::system_error'\n  what():  Resource temporarily unavailable":                                                                      Retry,
		thrown + "mylib::SocketError'\n  what():  peer 3":                                                                                               Retry,
		thrown + "cv::Exception'\n  what():  OpenCV(4.5.5) gpu_mat.cu:116: error: (-217:Gpu API call) unspecified launch failure":                       Retry,
		"libc++abi: terminating due to uncaught exception of type std::runtime_error: connection reset by peer":                                         Retry,
		"libc++abi: terminating due to uncaught exception of type std::bad_alloc: std::bad_alloc":                                                       Retry,
		"Unhandled exception. System.Net.Sockets.SocketException (111): Connection refused":                                                             Retry,
		thrown + "paddle::platform::EnforceNotMet'\n  what():  (External) Rpc call to parameter server 10.0.0.4:8333 failed.":                           Retry,
		thrown + "Xbyak::Error'\n  what():  can't alloc":                                                                                                Retry,
		thrown + "faiss::FaissException'\n  what():  StandardGpuResources: alloc fail":                                                                  Retry,
		thrown + "mscclpp::Error'\n  what():  Bootstrap failed: RemoteError":                                                                            Retry,
		thrown + "std::system_error'\nKeyError: 'x' ignored in callback\n  what():  Connection timed out":                                               Retry,
		"F1126 10:00:00.000000 7 shm.cc:54] Check failed: shm_fd >= 0 (-1 vs. 0) failed to open shm_name":                                               Retry,
		"F1126 10:00:00.000000 7 hb.cc:54] Check failed: now - last_beat < kDeadline (30012 vs. 30000) worker 3 went away":                              Retry,
		"F1126 10:00:00.000000 7 gcs.cc:54] Check failed: connected Failed to reach GCS within 60 seconds":                                              Retry,
		"F1126 10:00:00.000000 7 io.cc:54] Check failed: fread(b, 1, n, f) == n (100 vs. 4096) short read":                                              Retry,
		"LLVM ERROR: Unable to allocate section memory!":                                                                                                Retry,
		"libc++abi: terminating due to uncaught exception of type mlx::distributed::RingError: peer 3 went away":                                        Retry,
		"Unhandled exception. System.AggregateException: One or more errors occurred. (A task was canceled.)":                                           Retry,
		"Unhandled exception. System.Exception: Worker 3 did not answer in time":                                                                        Retry,
		"2026-11-26 10:00:00.000000: F tensorflow/core/rpc.cc:201] Non-OK-status: s status: FAILED_PRECONDITION: worker was restarted, session is gone": Retry,
		"LLVM ERROR: out of memory": Retry,
		"F1126 10:00:00.000000 7 gcs.cc:54] Check failed: num_attempts < connect_retries() No entry found for GcsServerAddress":                             Retry,
		"2026-11-26 10:00:00.000000: F tensorflow/core/rpc.cc:201] Non-OK-status: agent->Connect() status: UNAVAILABLE: failed to connect to all addresses": Retry,
	} {
		for _, o := range []Outcome{killed(sigabrt), exited(134)} {
			if f := Judge(o.printing("reading the net\n"+text+"\nAborted (core dumped)\n"), BuiltinRules()); f.Verdict != want {
				t.Errorf("%q: %s by %q: %q", text, f.Verdict, f.Rule, f.Evidence)
			}
		}
	}
}

// Frames of .NET, of glog and of log4j, which names the jar of each, are a stack however often they come, and so is the line at
// which IPython points.
func TestStacksOfOthers(t *testing.T) {
	for _, frame := range []string{
		"        at org.apache.hadoop.net.NetUtils.connect(NetUtils.java:531) ~[hadoop-common-2.7.2.jar:?]",
		"        at java.lang.Thread.run(Thread.java:748) [?:1.8.0_171]",
		"   at Tensorflow.Status.Check(Boolean throwException)",
		"   at Tensorflow.Status.Check(Boolean throwException) in /src/Status.cs:line 70",
		"    @           0x6a28e0  paddle::CombinedEvaluator::printStats()",
		"---> 99         allow_unreachable=True)  # allow_unreachable flag",
	} {
		r := newReader(exited(1).printing("a\n"+frame+"\n"+frame+"\n"+frame+"\n"+frame+"\nb\n"), BuiltinRules())
		for i := range r.lines {
			if l := &r.lines[i]; len(l.text) > 2 && l.kind != kindNoise {
				t.Errorf("%q: %v", frame, l.kind)
				break
			}
		}
	}
	for _, line := range []string{"   at epoch 3 (of 7) loss is 2.1", "  at Home. Sweet (home)", "--> done", "@ 7 workers", "--> 10.0.0.3:29500 connection timed out", "---> 10.0.0.3:29500 connection timed out"} {
		if r := newReader(exited(1).printing("a\n"+line+"\nb\n"), BuiltinRules()); r.lines[1].is(traitNoise) {
			t.Errorf("%q is taken for a frame", line)
		}
	}
}

// A program in Java or C that asks for -1 exits with 255, which is no signal: a bug that it has told is fatal.
func TestExitMinusOne(t *testing.T) {
	const head = "Exception in thread \"main\" java.lang."
	for says, want := range map[string]Verdict{
		head + "NullPointerException: no path\n\tat a.B.c(B.java:7)\n":                                                                                                               Fatal,
		head + "RuntimeException: odd\n\tat a.B.c(B.java:7)\n":                                                                                                                       Retry,
		"java.lang.ArrayIndexOutOfBoundsException: 2\n\tat a.B.c(B.java:7)\n":                                                                                                        Fatal,
		"java.lang.RuntimeException: java.lang.ClassNotFoundException: Class a.B not found\n\tat a.B.c(B.java:7)\n":                                                                  Fatal,
		"FATAL a.Dispatcher: Error in handling event type ADDED\njava.lang.NullPointerException\n\tat a.B.c(B.java:7)\n2026-11-26 10:00:00,001 INFO a.Dispatcher: Exiting, bbye..\n": Fatal,
		"Invalid arguments: Target path not specified\n":                                                                                                                             Fatal,
		"java.io.IOException: odd\n\tat a.B.c(B.java:7)\n":                                                                                                                           Retry,
		"java.lang.IllegalStateException: not ready\n\tat a.B.c(B.java:7)\n":                                                                                                         Retry,
		"Exception in thread \"netty-rpc-1\" java.lang.NullPointerException\n\tat a.B.c(B.java:7)\n":                                                                                 Retry,
		head + "UnsatisfiedLinkError: /tmp/libx.so: Cannot allocate memory\n\tat a.B.c(B.java:7)\n":                                                                                  Retry,
		head + "UnsupportedOperationException: not leader\n\tat a.B.c(B.java:7)\n":                                                                                                   Retry,
		"Invalid response received from IMDS\n":                                                                                                                                      Retry,
		"lost the session\n":                                                                                                                                                         Retry,
		"ssh: connect to host n7 port 22: Connection refused\n":                                                                                                                      Retry,
		"it did not work\n": Retry,
	} {
		if f := Judge(exited(255).printing("begins\n"+says), BuiltinRules()); f.Verdict != want {
			t.Errorf("%q: %s by %q: %q", says, f.Verdict, f.Rule, f.Evidence)
		}
	}
}

// A server's own log of a request that it has answered with 500 does not make the end one of a service.
func TestAccessLog(t *testing.T) {
	const log = "Traceback (most recent call last):\n  File \"a.py\", line 7, in f\n    g()\njinja2.exceptions.TemplateSyntaxError: expected token ':'\n10.128.4.20 - - [06/Apr/2019 23:14:35] \"GET / HTTP/1.1\" 500 -\n"
	if f := Judge(exited(1).printing(log), BuiltinRules()); f.Verdict != Fatal {
		t.Errorf("%s by %q: %q", f.Verdict, f.Rule, f.Evidence)
	}
}
