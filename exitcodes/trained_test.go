package exitcodes

import (
	"fmt"
	"strings"
	"testing"
)

// TestTrained has a worker that tells no steps run out of a GPU's memory: after some training, by what it printed, it is tried
// again; before, it would run out of it again.
func TestTrained(t *testing.T) {
	lines := func(format string) string {
		var b strings.Builder
		for i := range 9 {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const oom = "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    main()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
	for name, tt := range map[string]struct {
		printed string
		told    Known
		want    Verdict
	}{
		"epochs":                {lines("Epoch: %d, loss: 0.31\n"), Unknown, Retry},
		"steps of a dict":       {lines("{'loss': 0.%d1, 'learning_rate': 1e-05, 'epoch': 0.3}\n"), Unknown, Retry},
		"steps of strings":      {"{'loss': '0.6935', 'grad_norm': '0.8608', 'learning_rate': '4.688e-05', 'epoch': '0.125'}\n", Unknown, Retry},
		"batches, prepared":     {lines("tokenizing batch %d: 20311 tokens/s\n"), Unknown, Fatal},
		"a bar without a name":  {lines("\r 14%%|#4   | 14%d/1000 [00:14<01:25, 10.1it/s]"), Unknown, Retry},
		"an epoch's bar":        {lines("\rEpoch 3:  14%%|#4   | 14%d/1000 [00:14<01:25, 10.1it/s]"), Unknown, Retry},
		"Rich's bar":            {"Epoch 0/0  \u2501\u2501\u2578                  46/512 0:00:00 \u2022 0:00:02 431.29it/s \n", Unknown, Retry},
		"Rich's first":          {"Epoch 0/0  \u257a                   0/512 0:00:00 \u2022 -:--:-- 0.00it/s \n", Unknown, Fatal},
		"Rich's of shards":      {"Loading shards \u2501\u2501\u2501\u2578     4/14 0:00:02 \u2022 0:00:02 1.2it/s \n", Unknown, Fatal},
		"a preparation's":       {lines("\r 14%%|#4   | %d/8 [00:14<01:25, 10.1it/s]") + "\nTrain epoch: 0\n\r  0%|    | 0/1000 [00:19<?, ?it/s]\n", Unknown, Fatal},
		"the next epoch's":      {lines("\r 14%%|#4   | %d/8 [00:14<01:25, 10.1it/s]") + "\n\r  0%|    | 0/8 [00:19<?, ?it/s]\n", Unknown, Retry},
		"a summary":             {"[11/26 11:07:31 d2.engine.hooks]: Overall training speed: 22 iterations in 0:01:02 (2.84 s / it)\n", Unknown, Retry},
		"a summary of one":      {"[11/26 11:07:31 d2.engine.hooks]: Overall training speed: 1 iterations in 0:00:02 (2.84 s / it)\n", Unknown, Fatal},
		"another's summary":     {"read 22 iterations in 3 files\n", Unknown, Fatal},
		"nothing":               {"", Unknown, Fatal},
		"darknet's":             {" 3217: 0.871243, 0.902113 avg, 0.001000 rate, 3.911802 seconds, 205888 images\n", Unknown, Retry},
		"MXNet's":               {"INFO:root:Epoch[0] Batch [520]\tSpeed: 84.12 samples/sec\taccuracy=0.114063\n", Unknown, Retry},
		"CNTK's":                {"08/14/2017 21:03:11:  Epoch[ 5 of 30]-Minibatch[ 801- 900, 22.50%]: CrossEntropyWithSoftmax = 1.8 * 25600; time = 11.0211s; samplesPerSecond = 2322.8\n", Unknown, Retry},
		"CNTK's epoch":          {"Finished Epoch[ 1 of 20]: [Training] cr = 0.40189179 * 36006\n", Unknown, Retry},
		"Chainer's":             {"epoch       iteration   main/loss   main/loss/loc  lr\n0           1000        6.11230     2.40021        0.001\n", Unknown, Retry},
		"Kaldi's":               {"2020-02-18 03:10:12,442 [steps/nnet3/chain/train.py:529 - train - INFO ] Iter: 212/710   Jobs: 4   Epoch: 1.61/6.0 (26.8% complete)\n", Unknown, Retry},
		"Kaldi's first":         {"2020-02-18 03:10:12,442 [steps/nnet3/chain/train.py:529 - train - INFO ] Iter: 0/710   Jobs: 4   Epoch: 0.00/6.0 (0.0% complete)\n", Unknown, Fatal},
		"Marian's":              {"[2021-03-01 10:21:17] Ep. 1 : Up. 1000 : Sen. 412,331 : Cost 7.11802912 : Time 1057.21s : 11210.20 words/s\n", Unknown, Retry},
		"XGBoost's":             {"[12]\ttrain-rmse:0.41172\n", Unknown, Retry},
		"XGBoost's first":       {"[0]\ttrain-rmse:0.41172\n", Unknown, Fatal},
		"LightGBM's":            {"[10]\ttraining's l2: 0.31\n", Unknown, Retry},
		"DeePMD's":              {"DEEPMD INFO    batch     100 training time 3.02 s, testing time 0.05 s\n", Unknown, Retry},
		"RLlib's":               {"  time_total_s: 12.31\n", Unknown, Retry},
		"RLlib's settings":      {"stop:\n  training_iteration: 100\n", Unknown, Fatal},
		"Stable Baselines'":     {"|    fps                  | 812        |\n", Unknown, Retry},
		"its settings":          {"|    total_timesteps      | 1000000    |\n", Unknown, Fatal},
		"the next epoch":        {"Epoch 2/20\n", Unknown, Retry},
		"the first epoch":       {"Epoch 1/20\n", Unknown, Fatal},
		"a speed":               {"step 40: lr 0.001, 1,211 tokens/s\n", Unknown, Retry},
		"a speed of step 0":     {"step 0: lr 0.001, 0 tokens/s\n", Unknown, Fatal},
		"a speed of a plan":     {"Training for epochs: 10 with lr 0.1, expecting about 500 samples/s\n", Unknown, Fatal},
		"an evaluation's":       {"eval step 2/2: acc 0.1, 812 samples/s\n", Unknown, Fatal},
		"a batch's, prepared":   {"tokenizing batch 12: 20311 tokens/s\n", Unknown, Fatal},
		"the speed of a reader": {"tokenized 40 files, 1211 tokens/s\n", Unknown, Fatal},
		"a data set's bar":      {"Generating train split: 100%|####| 1000/1000 [00:01<00:00, 5678.12 examples/s]\n", Unknown, Fatal},
		"its map":               {"Map (batch 12): 2000 examples/s\n", Unknown, Fatal},
		"a path":                {"loaded epoch 12 from /data/samples/set1\n", Unknown, Fatal},
		"an accuracy":           {"Train accuracy: 10.15 %\t time: 1388.22 s\n", Unknown, Retry},
		"an earlier one's":      {"Loaded checkpoint a.pt (train acc: 0.91)\n", Unknown, Fatal},
		"none yet":              {"train_acc: 0.000\n", Unknown, Fatal},
		"a number of rows":      {"[1]\ttrain_rows: 120000\n", Unknown, Fatal},
		"a setting of one":      {"use train accuracy: yes\n", Unknown, Fatal},
		"the first line":        {"Epoch: 0, loss: 2.31\n", Unknown, Fatal},
		"shards":                {lines("\rLoading checkpoint shards:  14%%|#4   | %d/14 [00:14<01:25, 10.1it/s]"), Unknown, Fatal},
		"a data set":            {lines("loading part %d of the training data\n"), Unknown, Fatal},
		"an allocator's table":  {lines("2022-03-18 00:07:38.944538: I tensorflow/core/common_runtime/bfc_allocator.cc:1046] InUse at 7f5c of size 1024 by op ones action_count 4746%d step 0 next 3\n"), Unknown, Fatal},
		"absl's log":            {lines("I0318 00:07:38.944538 139 train.py:46] step %d, loss 0.31\n"), Unknown, Retry},
		"Caffe's log":           {lines("I0318 00:07:38.944538 139 solver.cpp:228] Iteration %d, loss = 0.31\n"), Unknown, Retry},
		"a table":               {lines("layer %d has 1024 units\n"), Unknown, Fatal},
		"a bar that has no end": {lines("\r  0%%|    | 0/100%d [00:00<?, ?it/s]"), Unknown, Fatal},
		"steps told, none new":  {lines("Epoch: %d, loss: 0.31\n"), No, Fatal},
	} {
		t.Run(name, func(t *testing.T) {
			o := exited(1)
			o.Output, o.Progressed = []byte(tt.printed+"\n"+oom), tt.told
			if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || f.Reason != "GPUOutOfMemory" {
				t.Errorf("%s %s: %s", f.Verdict, f.Reason, f.Message)
			}
		})
	}
	// An exception closes the bar of the loop that it ends: what it shows then was done before.
	t.Run("a bar drawn once more after it", func(t *testing.T) {
		o := exited(1)
		o.Output = []byte("\r  0%|    | 0/1000 [00:00<?, ?it/s]\n" + oom + "\r 14%|#4   | 140/1000 [00:14<01:25, 10.1it/s]\n")
		if f := Judge(o, BuiltinRules()); f.Verdict != Retry || f.Reason != "GPUOutOfMemory" {
			t.Errorf("%s %s: %s", f.Verdict, f.Reason, f.Message)
		}
	})
	// Under torchrun the bar has no rank's name, and the exception has.
	t.Run("a bar of all ranks", func(t *testing.T) {
		const ruled = "============================================================"
		const report = "Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 6, in <module>\n    sys.exit(main())\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" + ruled + "\ntrain.py FAILED\n" + ruled + "\nFailures:\n  <NO_OTHER_FAILURES>\n" + ruled +
			"\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-04-02_02:29:32\n  host      : n\n  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 208)\n  error_file: <N/A>\n" +
			"  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n" + ruled + "\n"
		tagged := "[rank0]: " + strings.ReplaceAll(strings.TrimSpace(oom), "\n", "\n[rank0]: ") + "\n"
		for printed, want := range map[string]Verdict{"\rSteps:   2%|#   | 1999/100000 [1:02:30<51:04:52,  1.88s/it, loss=0.98]\n": Retry, "": Fatal} {
			o := exited(1)
			o.Output = []byte(printed + tagged + report)
			if f := Judge(o, BuiltinRules()); f.Verdict != want || f.Reason != "GPUOutOfMemory" || f.Rank != 0 {
				t.Errorf("%q: %s %s: %s", printed, f.Verdict, f.Reason, f.Message)
			}
		}
	})
}
