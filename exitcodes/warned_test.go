package exitcodes

import (
	"strings"
	"testing"
)

// TestWarnedOf has programs that call a warning what they end of, or say it and go on.
func TestWarnedOf(t *testing.T) {
	const (
		horovod = "Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce, allgather or broadcast a tensor after one of the ranks finished execution."
		tf      = "2026-07-30 06:41:52.525932: W tensorflow/core/framework/op_kernel.cc:1318] "
		primary = "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n"
		stopped = "W0409 07:28:49.530000 1359 torch/distributed/elastic/agent/server/api.py:719] Received Signals.SIGTERM death signal, shutting down workers\n"
		bfc     = "2018-02-06 03:11:25.666037: W tensorflow/core/common_runtime/bfc_allocator.cc:273] Allocator (GPU_0_bfc) ran out of memory trying to allocate 4.42GiB.  Current allocation summary follows.\n" +
			"2018-02-06 03:11:25.666101: I tensorflow/core/common_runtime/bfc_allocator.cc:628] Bin (256): \tTotal Chunks: 2811, Chunks in use: 2790. 702.8KiB allocated for chunks.\n" +
			"2018-02-06 03:11:25.671112: I tensorflow/core/common_runtime/bfc_allocator.cc:684] Sum Total of in-use chunks: 6.11GiB\n"
		dashes = "--------------------------------------------------------------------------\n"
	)
	for name, tt := range map[string]struct {
		output string
		code   int
		want   Verdict
		says   string
	}{
		"an operation that fails":             {tf + "OP_REQUIRES failed at mpi_ops.cc:422 : Aborted: " + horovod + "\n" + primary, 1, Retry, "Horovod has been shut down"},
		"another warning of the same":         {tf + "Slow allreduce: " + horovod + "\nrestoring model.ckpt-7\n" + primary, 1, Fatal, "exited 1"},
		"and nothing after it":                {tf + "Slow allreduce: " + horovod + "\n" + primary, 1, Retry, "Horovod has been shut down"},
		"a peer's end, as a warning":          {"2021-04-16 06:05:53.861300: W   41468 tensorflow/core/distributed_runtime/rpc/grpc_remote_master.cc:159] RPC failed with status = \"Unavailable: Socket closed\"\n", 1, Retry, "Socket closed"},
		"and a stack of C++":                  {"2021-04-16 06:05:53.861300: W tensorflow/core/distributed_runtime/rpc/grpc_remote_master.cc:159] RPC failed with status = \"Unavailable: Socket closed\"\n2021-04-16 06:05:54.000000: E tensorflow/compiler/xla/xla_client/xla_util.cc:88] *** Begin stack trace ***\n2021-04-16 06:05:54.000000: E tensorflow/compiler/xla/xla_client/xla_util.cc:88] \txla::util::Report(tensorflow::Status const&, absl::Span<x\n", 1, Retry, "Socket closed"},
		"NCCL before 2.2":                     {"n7:454:484 [0] INFO bootstrap.cu:76 -> 2 [bthread]\n\nn7:454:587 [0] include/socket.h:196 WARN Connection closed by remote peer\nn7:454:587 [0] INFO transport/net_socket.cu:149 -> 2\n", 1, Retry, "Connection closed by remote peer"},
		"TensorFlow's allocator, after steps": {"step 17825: train loss 4.2335\n" + bfc, 1, Retry, "ran out of memory"},
		"and before any":                      {"Loading run.yaml\n" + bfc, 1, Fatal, "ran out of memory"},
		"InfiniBand, and Open MPI's page": {"[node2:17381] pml_ucx.c:424  Error: ucp_ep_create(proc=2) failed: Endpoint timeout\n" + dashes + "It looks like MPI_INIT failed for some reason; your parallel process is\nlikely to abort.  There are many reasons that a parallel process can\nfail during MPI_INIT; some of which are due to configuration or environment\nproblems.\n\n  PML add procs failed\n  --> Returned \"Error\" (-1) instead of \"Success\" (0)\n" + dashes +
			"[node2:17381] *** An error occurred in MPI_Init\n[node2:17381] *** reported by process [3710458193,3]\n[node2:17381] *** on a NULL communicator\n[node2:17381] *** Unknown error\n", 1, Retry, "Endpoint timeout"},
		"a store, tried again":         {"W715 09:24:02.297720466 TCPStore.cpp:330] [c10d] TCP client failed to connect/validate to host 0.0.0.0:51216 - retrying (try=0, timeout=300000ms, delay=59547ms): The client socket has timed out after 300000ms while trying to connect to (0.0.0.0, 51216).\n", 1, Retry, "client socket"},
		"which it did without":         {"WARNING: cache: connection refused, working without it\n", 1, Fatal, "exited 1"},
		"a rendezvous that is gone":    {"WARNING:torch.distributed.elastic.rendezvous.dynamic_rendezvous:The node 'n7_1_0' has failed to send a keep-alive heartbeat to the rendezvous 'none' due to an error of type RendezvousConnectionError.\n", 1, Retry, "keep-alive"},
		"as TensorFlow goes on":        {"Node: 'HorovodAllreduce_grads_0'\n" + horovod + "\n\t [[{{node HorovodAllreduce_grads_0}}]]\n" + primary, 1, Retry, "Horovod has been shut down"},
		"an agent that is stopped":     {stopped, 1, Preempted, "SIGTERM death signal"},
		"after its worker's exception": {wrap("ValueError: 3 is not 4") + stopped, 1, Fatal, "3 is not 4"},
		"after any exception":          {wrap("RuntimeError: odd") + stopped, 1, Fatal, "odd"},
		"a check that fails":           {"F tensorflow/stream_executor/lib/statusor.cc:34] Attempting to fetch value instead of handling error Internal: failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered\n", 134, Retry, "uncorrectable ECC"},
		"an error that is handled":     {"E tensorflow/stream_executor/lib/statusor.cc:34] Using the CPU instead after CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered\n", 134, Retry, "SIGABRT"},
		"a report whose head is gone":  {"  exitcode  : -11 (pid: 6421)\n  error_file: <N/A>\n  traceback : Signal 11 (SIGSEGV) received by PID 6421\n======\n", 1, Retry, "Signal 11 (SIGSEGV)"},
		"as TensorFlow 1 names it":     {"Caused by op 'HorovodBroadcast_0', defined at:\n  File \"run.py\", line 9, in <module>\n    run()\n\nAbortedError (see above for traceback): " + horovod + "\n", 1, Retry, "AbortedError"},
		"NCCL's last error":            {wrap("torch.distributed.DistBackendError: NCCL error in: a.cpp:1, invalid usage\nncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\nDuplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000"), 1, Fatal, "Duplicate GPU"},
		"a port that is taken":         {"[W socket.cpp:401] [c10d] The server socket has failed to bind to 0.0.0.0:4711 (errno: 98 - Address already in use).\n[E socket.cpp:435] [c10d] The server socket has failed to listen on any local network address.\n", 1, Retry, "failed to listen"},
		"a file server's bad address":  {wrap("safetensors_rust.SafetensorError: Error while serializing: IoError(Os { code: 14, kind: Uncategorized, message: \"Bad address\" })"), 1, Retry, "Bad address"},
		"an import, told by a library": {wrap("RuntimeError: Failed to import a.b because of the following error (look up to see its traceback):\n/v/x.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c10"), 1, Fatal, "undefined symbol"},
		"a disk that is full on Windows' way": {wrap("OSError: [Errno 28] No space left on device") + "\n" + chainedContext + ":\n\n" +
			wrap("RuntimeError: [enforce fail at ../caffe2/serialize/inline_container.cc:300] . unexpected pos 128 vs 22"), 1, Fatal, "No space left"},
	} {
		o := exited(tt.code)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s, %q; want %s, %q", name, f.Verdict, f.Message, tt.want, tt.says)
		}
	}
}
