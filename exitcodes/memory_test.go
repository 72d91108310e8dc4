package exitcodes

import "testing"

// TestDeviceMemory has the memory of a device run out before and after steps that were printed, in the words of several libraries.
func TestDeviceMemory(t *testing.T) {
	const keras = "Epoch 1/3\n 100/1000 [==>...........................] - ETA: 1:20 - loss: 2.3011\n 200/1000 [=====>........................] - ETA: 1:10 - loss: 2.2011\n"
	const steps = "step 10 loss 2.51\nstep 20 loss 2.42\nstep 30 loss 2.37\nstep 40 loss 2.31\n"
	for said, full := range map[string]bool{
		"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 1.56G.":   true,
		"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Error loading program: Attempting to reserve 12.21G.":            true,
		"jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY: out of memory":   true,
		"tensorflow.python.framework.errors_impl.ResourceExhaustedError: failed to allocate memory [Op:AddV2]":                      true,
		"tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:\n\nDetected at node 'dense/MatMul'": true,
		"tensorflow.python.framework.errors_impl.InternalError: Dst tensor is not initialized.":                                     true,
		"cupy.cuda.memory.OutOfMemoryError: out of memory":                                                                          true,
		"mxnet.base.MXNetError: [10:11:12] src/storage/pooled_storage_manager.h:157: cudaMalloc retry failed: out of memory":        true,
		"google.api_core.exceptions.ResourceExhausted: RESOURCE_EXHAUSTED: Received message larger than max (5 vs. 4)":              false,
		"tensorflow.python.framework.errors_impl.ResourceExhaustedError: /ckpt/model.index; No space left on device":                false,
	} {
		for _, framed := range []string{"", "Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in <module>\n    main()\n"} {
			for before, want := range map[string]Verdict{"": Fatal, "  5% 55/1095 [00:31<08:56,  1.94it/s]\n": Retry, "     0/299     15.8G      3.97     0.358       608:  63% 34/54 [00:43<00:25,  1.26s/it]\n": Retry,
				"Loading /data/train_1.json: 100% 1168/1168 [00:00<00:00, 1736.95it/s]\n": Fatal, "Loading checkpoint shards:  63% 34/54 [00:43<00:25,  1.26s/it]\n": Fatal, keras: Retry, steps: Retry, "step 1200: train loss 2.31, val loss 2.40\n": Retry, "{'loss': 1.51, 'epoch': 0.01}\n": Retry, "step 0: train loss 9.31\n": Fatal, "Epoch: [1][ 990/1000]\tTime 0.1\tLoss 1.23\n": Retry, "Epoch: [0][0/1000]\tTime 0.1\tLoss 7.23\n": Fatal, "epochs 10, loss mse\n": Fatal,
				" | Epoch: [1][10003/10010]    Time 1.210  Data 0.000  Err 8.3520  top1  99.219\n": Retry,
				" 82/1000000 [02:46<563:58:07,  2.03s/it]\n":                                       Retry, "29948it [35:34,  7.00s/it]\n": Retry, "Loading shards: 82/1000 [02:46<58:07,  2.03s/it]\n": Fatal, " 82/1000000 [02:46<563:58:07,  2.03s/it]2018-02-07 09:49:27.301416: W a.cc:273] slow\n": Retry,
				"3780 (1.26%)        31.544 ms            2 h, 35 m, 43 s      1.02 K\n3790 (1.26%)        31.544 ms            2 h, 35 m, 43 s      1.02 K\n3800 (1.27%)        31.634 ms            2 h, 36 m, 9 s       1.01 K\n": Retry} {
				f := Judge(exited(1).printing(before+framed+said+"\n"), BuiltinRules())
				if !full {
					want = Fatal
				}
				if f.Verdict != want || full && f.Reason != "GPUOutOfMemory" {
					t.Errorf("%s %s by %q, want %s: %q %s", f.Verdict, f.Reason, f.Rule, want, before, said)
				}
			}
		}
	}
}
