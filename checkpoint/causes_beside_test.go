package checkpoint

import (
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/format"
)

// TestCausesBeside has directories in which something beside the state says a number, or is called as if it were one.
func TestCausesBeside(t *testing.T) {
	with := func(key, value string) string { return keyIn(key) + value }
	dict := func(pairs ...string) string { return "}(" + strings.Join(pairs, "") + "u" }
	model := dict(with("w", tensorIn))
	ndarrays := func(names string) []byte {
		return []byte("\x12\x01\x00\x00\x00\x00\x00\x00" + strings.Repeat("\x00", 8) + "\x01\x00\x00\x00\x00\x00\x00\x00" +
			"\xc9\xfa\x93\xf9\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("\x00", 12) + "12345678" + names)
	}
	dcp := filetest.DCPMetadata([]string{"__0_0.distcp"}, []int64{5})
	const oneName = "\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00w"
	burn := packed("bytes", "\xc4\x04abcd", "shape", "\x91\x01", "dtype", "\xa3F32")
	record := func(item string) []byte {
		return packed("metadata", string(packed("float", "\xa3f32", "version", "\xa60.17.1")), "item", item)
	}
	adam := string(packed("x", string(packed("rank", "\x01", "moment_1", string(burn)))))
	stepped := func(epoch, step string, files ...wrote) (all []wrote) {
		for _, f := range files {
			all = append(all, wrote{"epoch_" + epoch + "_step_" + step + "/" + f.path, f.data})
		}
		return all
	}
	saved := []wrote{{"model.pt", modelOnly()}, {"optim.pt", adamOnly()}}
	cut := []wrote{{"model.pt", modelOnly()}, {"optim.pt", adamOnly()[:9]}}
	of := func(lists ...[]wrote) (all []wrote) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	for name, tt := range map[string]cause{
		"a count of the program's own in what tells more": {files: []wrote{{"net", counted("epoch", numberIn(47), "info", dict(with("train_update", numberIn(0))))}}, path: "net", step: 47, unit: format.UnitEpoch},
		"a usual one there":                             {files: []wrote{{"net.pth", counted("epoch", numberIn(4), "info", dict(with("iter", numberIn(900))))}}, path: "net.pth", step: 900},
		"steps of environments, and frames":             {files: []wrote{{"a.pth", counted("total_env_steps", numberIn(900))}, {"b.pth", counted("frames_seen", numberIn(950))}}, path: "b.pth", step: 950},
		"what the steps of a model are":                 {files: []wrote{{"a.pth", counted("timesteps", numberIn(900))}}, path: "a.pth", step: -1},
		"shards in place":                               {files: []wrote{{"checkpoint_last-shard0.pt", stateOf("step", 5)}, {"checkpoint_last-shard1.pt", stateOf("step", 5)}}, path: "checkpoint_last-shard0.pt", step: 5},
		"the same, of which one was cut":                {files: []wrote{{"checkpoint_last-shard0.pt", stateOf("step", 5)}, {"checkpoint_last-shard1.pt", stateOf("step", 5)[:60]}}, veto: true},
		"an iteration that is begun anew":               {files: []wrote{{"checkpoint.pth", counted("ep", numberIn(42), "it", numberIn(0))}}, path: "checkpoint.pth", step: 42, unit: format.UnitEpoch},
		"a count by another short word":                 {files: []wrote{{"net.pth", counted("curr_iter", numberIn(900))}}, path: "net.pth", step: 900},
		"settings of an optimizer":                      {files: []wrote{{"model-012-0.39.pth", pickled("params", dict(with("optimizer", dict(with("lr", numberIn(1)), with("name", keyIn("sgd"))))), "state", model)}}},
		"settings of one under a name of their own":     {files: []wrote{{"model_best.pth", pickled("optimizer_cfg", dict(with("lr", numberIn(1))), "net", model)}}},
		"the state of one under such a name":            {files: []wrote{{"model-012-0.39.pth", pickled("params", dict(with("optimizer", optimizerIn)), "net", model)}}, path: "model-012-0.39.pth", step: 12},
		"an ending of another form, weights":            {files: []wrote{{"best.h5", pickled("model", model)}, {"last.h5", pickled("model", model)}}},
		"an ending of another form, a state":            {files: []wrote{{"last.h5", counted("epoch", numberIn(3))}}, path: "last.h5", step: 3, unit: format.UnitEpoch},
		"settings of a model beside weights":            {files: []wrote{{"model_config.pkl", pickled("batch", numberIn(2), "step", numberIn(1))}, {"hparams.pkl", pickled("epoch", numberIn(9))}, {"state_15.pt", modelOnly()}}},
		"settings within a directory of an epoch":       {files: []wrote{{"epoch_3/net.pt", counted()}, {"epoch_3/train_config.pkl", pickled("step", numberIn(7))}}, path: "epoch_3", step: 3, unit: format.UnitEpoch},
		"steps in names that begin anew in each epoch":  {files: of(stepped("0", "500", saved...), stepped("0", "1000", saved...), stepped("1", "500", saved...), stepped("1", "1000", cut...)), path: "epoch_1_step_500", step: 1, unit: format.UnitEpoch},
		"steps in names that go on":                     {files: of(stepped("0", "500", saved...), stepped("1", "1500", saved...), stepped("0", "1000", saved...)), path: "epoch_1_step_1500", step: 1500},
		"a measure with a slash":                        {files: []wrote{{"epoch=1-val/loss=0.50.ckpt", lightningOf(8)}, {"epoch=2-val/loss=0.40.ckpt", lightningOf(12)}}, path: "epoch=2-val/loss=0.40.ckpt", step: 12},
		"what was there before the search":              {files: []wrote{{"checkpoint/warmup.pth.tar", counted("warmup_epoch", numberIn(39))}, {"checkpoint/checkpoint.pth.tar", counted("epoch", numberIn(64))}}, path: "checkpoint/checkpoint.pth.tar", step: 64, unit: format.UnitEpoch},
		"the phase before, in a directory of its own":   {files: []wrote{{"warmup/last.pt", counted("epoch", numberIn(3))}}, path: "warmup/last.pt", step: 3, unit: format.UnitEpoch},
		"another state in the same directory":           {files: []wrote{{"checkpoint/pretrain.pth.tar", counted("epoch", numberIn(4))}, {"checkpoint/checkpoint.pth.tar", counted("epoch", numberIn(9))}}, path: "checkpoint/checkpoint.pth.tar", step: 9, unit: format.UnitEpoch},
		"a distributed one of a rank in that of a step": {files: []wrote{{"model_step_10/rank_0/__0_0.distcp", []byte("shard")}, {"model_step_10/rank_0/.metadata", dcp}, {"model_step_20/rank_0/__0_0.distcp", []byte("shard")}, {"model_step_20/rank_0/.metadata", dcp}, {"model_step_30/rank_0/__0_0.distcp", []byte("shard")}}, path: "model_step_20", step: 20, torn: "model_step_30"},
		"arrays of MXNet's":                             {files: []wrote{{"resnet-0089.params", ndarrays(oneName)}}},
		"the same, and an optimizer's state":            {files: []wrote{{"resnet-0089.params", ndarrays(oneName)}, {"resnet-0089.states", blob(400)}}, path: "resnet-0089.params", step: 89},
		"the same, cut":                                 {files: []wrote{{"resnet-0088.params", ndarrays(oneName)}, {"resnet-0088.states", blob(400)}, {"resnet-0089.params", ndarrays(oneName[:9])}, {"resnet-0089.states", blob(400)}}, path: "resnet-0088.params", step: 88, torn: "resnet-0089.params"},
		"records of burn's":                             {files: []wrote{{"model-4.mpk", record(string(burn))}, {"optim-4.mpk", record(adam)}, {"scheduler-4.mpk", record("\xca\x3a\x83\x12\x6f")}}, path: "model-4.mpk", step: 4},
		"a record of burn's alone":                      {files: []wrote{{"model-4.mpk", record(string(burn))}}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), tt.judge)
	}
}
