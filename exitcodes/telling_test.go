package exitcodes

import "testing"

// TestMessageOfSeveralLines has exceptions whose first line says little: the evidence is what an engineer would quote.
func TestMessageOfSeveralLines(t *testing.T) {
	const frames = "Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in <module>\n    step(x)\n"
	const nccl = "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, "
	for name, tt := range map[string]struct {
		says    string
		verdict Verdict
		want    string
	}{
		"NCCL's last error": {
			nccl + "unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.20.5\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \nLast error:\nsocketStartConnect: Connect to 10.0.0.1<123> failed : Software caused connection abort\n",
			Retry, nccl + "unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.20.5 Last error: socketStartConnect: Connect to 10.0.0.1<123> failed : Software caused connection abort",
		},
		"no memory for NCCL": {
			nccl + "unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.26.2\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'\n",
			Fatal, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGrou... Cuda failure 2 'out of memory'",
		},
		"a hub that refuses": {
			"OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://hub.example/a/b.\n401 Client Error. (Request ID: Root=1-66be0ef5)\nCannot access gated repo for url https://hub.example/a/b/resolve/main/config.json.\n",
			Fatal, "OSError: You are trying to access a gated repo. 401 Client Error. (Request ID: Root=1-66be0ef5) Cannot access gated repo for url https://hub.example/a/b/resolve/main/config.json.",
		},
		"two ranks on one GPU": {
			nccl + "internal error - please report this issue to the NCCL developers, NCCL version 2.18.1\nncclInternalError: Internal check failed.\nLast error:\nDuplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000\n",
			Fatal, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGrou... Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",
		},
		"a stack of C++ within it": {
			"torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Connection reset by peer\nException raised from recvBytes at ../torch/csrc/distributed/c10d/Utils.hpp:669 (most recent call first):\nframe #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f in /opt/libc10.so)\n. This may indicate a possible application crash on rank 0 or a network set up issue.\n",
			Retry, "torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Connection reset by peer. This may indicate a possible application crash on rank 0 or a network set up issue.",
		},
		"XLA's tasks": {
			"jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n/job:jax_worker/replica:0/task:5\nThe tasks have crashed. Check the task logs for an earlier error to debug further.\n",
			Retry, "jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats): /job:jax_worker/replica:0/task:5",
		},
	} {
		if f := Judge(exited(1).printing(frames+tt.says), BuiltinRules()); f.Verdict != tt.verdict || f.Evidence != tt.want {
			t.Errorf("%s: %s by %q\ngot  %q\nwant %q", name, f.Verdict, f.Rule, f.Evidence, tt.want)
		}
	}
}
