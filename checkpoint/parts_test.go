package checkpoint

import (
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/format"
)

// TestParts has directories in which names mislead: endings that are part of the name, numbers of hyperparameters, parts of one save in
// directories of their own, and files beside the state. Each is in the order in which it is written.
func TestParts(t *testing.T) {
	args := strings.TrimSuffix(strings.TrimPrefix(string(namespaceOf("epochs", numberIn(30))), "\x80\x02"), ".")
	epoch := func(n int) []byte { return stateOf("epoch", n) }
	bundle := func(dir string) []wrote {
		return []wrote{{dir + "/config.json", []byte(`{"model_type": "llama"}`)}, {dir + "/model.safetensors", weights()}, {dir + "/tokenizer.model", blob(400)}}
	}
	const long = "net-b16-h4-dqk64-lsilud0.2-n128-lr0.001-wu0-2026-11-20_ep"
	for name, tt := range map[string]cause{
		"a name behind an ending":               {files: []wrote{{"ckpt.t7mixup_20170922", epoch(133)}}, path: "ckpt.t7mixup_20170922", step: 133, unit: format.UnitEpoch},
		"a word behind an ending":               {files: []wrote{{"65_checkpoint.pt", epoch(65)}, {"checkpoint.pt.best", epoch(68)}, {"checkpoint.pt.latest", epoch(73)}}, path: "checkpoint.pt.latest", step: 73, unit: format.UnitEpoch},
		"an epoch behind an ending":             {files: []wrote{{"model.pth.epoch3", epoch(3)}, {"model.pth.epoch4", epoch(4)}}, path: "model.pth.epoch4", step: 4, unit: format.UnitEpoch},
		"a copy that is being written":          {files: []wrote{{"ckpt_3.pt", epoch(3)}, {"ckpt_4.pt.6bE5Ba1F", epoch(4)}}, path: "ckpt_3.pt", step: 3, unit: format.UnitEpoch},
		"text behind a point":                   {files: []wrote{{"log.lr0.01_ep3", []byte(strings.Repeat("loss 0.1\n", 20))}, {"ckpt_3.pt", epoch(3)}}, path: "ckpt_3.pt", step: 3, unit: format.UnitEpoch},
		"a long name without an ending":         {files: []wrote{{long + "20", epoch(20)}, {long + "40", epoch(40)}}, path: long + "40", step: 40, unit: format.UnitEpoch},
		"an optimizer's ending more":            {files: []wrote{{"my-500.pt", modelOnly()}, {"my-500.pt.optim", adamOnly()}, {"my-1000.pt", modelOnly()}, {"my-1000.pt.optim", adamOnly()}, {"my-1500.pt", modelOnly()}}, path: "my-1000.pt", step: 1000},
		"what differs is the step":              {files: []wrote{{"seg-28-k16-batch16-lr0.001_ckpt_10.pth", epoch(10)}, {"seg-28-k16-batch16-lr0.001_ckpt_best.pth", epoch(10)}, {"seg-28-k16-batch16-lr0.001_ckpt_11.pth", epoch(11)}}, path: "seg-28-k16-batch16-lr0.001_ckpt_11.pth", step: 11, unit: format.UnitEpoch},
		"a step that does not differ":           {files: []wrote{{"e30_w2_ckpt_3.pth", stateOf("seen", 3)}, {"e30_w2_ckpt_4.pth", stateOf("seen", 4)}}, path: "e30_w2_ckpt_4.pth", step: 4},
		"a day, a time and a random number":     {files: []wrote{{"NetV1_20-Nov_10-15-0a1b2c3d4e5f_best.pt", epoch(2)}, {"NetV1_20-Nov_10-15-0a1b2c3d4e5f_latest.pt", epoch(3)}}, path: "NetV1_20-Nov_10-15-0a1b2c3d4e5f_latest.pt", step: 3, unit: format.UnitEpoch},
		"parts in directories of their own":     {files: []wrote{{"c/netG/netG_10_steps.pth", stateOf("step", 10)}, {"c/netD/netD_10_steps.pth", stateOf("step", 10)}, {"c/netG/netG_20_steps.pth", stateOf("step", 20)}, {"c/netD/netD_20_steps.pth", stateOf("step", 20)}, {"c/netG/netG_30_steps.pth", stateOf("step", 30)}}, path: "c/netG/netG_20_steps.pth", step: 20},
		"a model and an optimizer apart":        {files: []wrote{{"model/epoch_1.pt", modelOnly()}, {"optimizer/epoch_1.pt", adamOnly()}, {"model/epoch_2.pt", modelOnly()}, {"optimizer/epoch_2.pt", adamOnly()}}, path: "model/epoch_2.pt", step: 2, unit: format.UnitEpoch},
		"a pair in place beside numbered pairs": {files: []wrote{{"aa_epoch_010.pth", pickled("epoch", numberIn(10), "state_dict", "}("+keyIn("w")+tensorIn+"u")}, {"optimizer_epoch_010.pth", adamOnly()}, {"aa_best.pth", modelOnly()}, {"aa_epoch_020.pth", pickled("epoch", numberIn(20), "state_dict", "}("+keyIn("w")+tensorIn+"u")}, {"optimizer_epoch_020.pth", adamOnly()}, {"aa_latest.pth", pickled("epoch", numberIn(24), "state_dict", "}("+keyIn("w")+tensorIn+"u")}, {"optimizer_latest.pth", pickled("epoch", numberIn(24), "optimizer", optimizerIn)}}, path: "aa_latest.pth", step: 24, unit: format.UnitEpoch},
		"the same, with one word for all":       {files: []wrote{{"aa_010.pth", pickled("epoch", numberIn(10), "state_dict", "}("+keyIn("w")+tensorIn+"u")}, {"aa_optimizer_010.pth", adamOnly()}, {"bb_latest.pth", modelOnly()}, {"aa_latest.pth", pickled("epoch", numberIn(24), "state_dict", "}("+keyIn("w")+tensorIn+"u")}, {"aa_optimizer_latest.pth", adamOnly()}}, path: "aa_latest.pth", step: 24, unit: format.UnitEpoch},
		"parts apart, in place":                 {files: []wrote{{"G/latest.pth", modelOnly()}, {"D/latest.pth", modelOnly()}, {"optG/latest.pth", adamOnly()}}, path: "G/latest.pth", step: -1},
		"parts apart, in the plural":            {files: []wrote{{"models/1.pt", modelOnly()}, {"optimizers/1.pt", adamOnly()}, {"models/2.pt", modelOnly()}}, path: "models/1.pt", step: 1},
		"sizes in the name of the newest":       {files: []wrote{{"gpt_384_12_latest.pth", epoch(9)}}, path: "gpt_384_12_latest.pth", step: 9, unit: format.UnitEpoch},
		"safetensors without an ending":         {files: []wrote{{"optimizer_lr0.1_ep2", adamOnly()}, {"weights_lr0.1_ep2", weights()}}, path: "weights_lr0.1_ep2", step: 2, unit: format.UnitEpoch},
		"a seed":                                {files: []wrote{{"ckpt.t7mixup_0", epoch(133)}}, path: "ckpt.t7mixup_0", step: 133, unit: format.UnitEpoch},
		"a word for the newest at the end":      {files: []wrote{{"state.pt.prev", epoch(3)}, {"state.pt.current", epoch(4)}}, path: "state.pt.current", step: 4, unit: format.UnitEpoch},
		"the memory of an agent":                {files: []wrote{{"agent_200.pt", stateOf("seen", 1)}, {"memory_200.pt", pickled("obs", tensorIn, "pos", numberIn(200))}}, path: "agent_200.pt", step: 200},
		"the last optimizer's state":            {files: []wrote{{"model-1000.pt", modelOnly()}, {"model-2000.pt", modelOnly()}, {"last-optimizer-state.pt", adamOnly()}}, path: "model-2000.pt", step: 2000},
		"a buffer of what was seen":             {files: []wrote{{"rl_model_96_steps.zip", arrays("policy.optimizer/m", "policy/w")}, {"rl_model_replay_buffer_96_steps.pkl", []byte("\x80\x02cmine\nReplayBuffer\n)\x81.")}}, path: "rl_model_96_steps.zip", step: 96},
		"such a buffer alone":                   {files: []wrote{{"replay_buffer_96_steps.pkl", []byte("\x80\x02cmine\nReplayBuffer\n)\x81.")}}},
		"a base model and a first save":         {files: append(bundle("llama-7b"), wrote{"out/checkpoint-2/config.json", []byte(`{}`)}, wrote{"out/checkpoint-2/model.safetensors", weights()[:20]})},
		"arguments and what scales the data":    {files: []wrote{{"fold_0/model_0/model.pt", pickled("args", args, "state_dict", "}("+keyIn("w")+tensorIn+"u", "data_scaler", "}("+keyIn("means")+tensorIn+keyIn("stds")+tensorIn+"u")}}},
		"a state, whose loss is scaled":         {files: []wrote{{"last.pt", pickled("model", "}("+keyIn("w")+tensorIn+"u", "scaler", "}("+keyIn("scale")+"G\x40\x00\x00\x00\x00\x00\x00\x00u")}}, path: "last.pt", step: -1},
		"no more than an epoch above a state":   {files: []wrote{{"meta_log_giou0.431.pth", pickled("epoch", numberIn(3))}, {"ckpt_model/step_7.pt", stateOf("step", 7)}}, path: "ckpt_model/step_7.pt", step: 7},
		"the same above a trainer's": {files: []wrote{{"meta_log_giou0.431.pth", pickled("epoch", numberIn(3))}, {"ckpt_model/global_step20/mp_rank_00_model_states.pt", filetest.Torch([]byte("12345678"))},
			{"ckpt_model/global_step20/zero_pp_rank_0_mp_rank_00_optim_states.pt", filetest.Torch([]byte("12345678"))}, {"ckpt_model/latest", []byte("global_step20")}}, path: "ckpt_model/global_step20", step: 20},
		"no more than an epoch": {files: []wrote{{"meta_log_giou0.431.pth", pickled("epoch", numberIn(3))}}, path: "meta_log_giou0.431.pth", step: 3, unit: format.UnitEpoch},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			tt.judge(t)
		})
	}
}
