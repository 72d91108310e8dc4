package checkpoint

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/format"
)

// inlined is an array as joblib writes it: what stands for it, how many bytes fill up, these, and its own.
func inlined(sides, kind string, bytes string) string {
	return "cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81}(" + keyIn("shape") + sides + keyIn("dtype") + "cnumpy\ndtype\n(" + keyIn(kind) + "I00\nI01\ntR(I3\n" + keyIn("<") + "NNNI-1\nI-1\nI0\ntb" +
		keyIn("numpy_array_alignment_bytes") + "I16\nub" + bytes
}

// twoFloats is such an array of two numbers, in which there is an opcode that stops.
func twoFloats() string { return inlined("(I2\nt", "f4", "\x03\xff\xff\xff....abcd") }

// estimator is one of scikit-learn's with an array and an optimizer in it.
func estimator() string {
	return "csklearn.pipeline\nPipeline\n)\x81}(" + keyIn("steps") + "](csklearn.neural_network\nMLPClassifier\n)\x81}(" + keyIn("coefs_") + twoFloats() + keyIn("n_iter_") + numberIn(7) +
		keyIn("_optimizer") + "cm\nAdam\n)\x81}" + keyIn("t") + numberIn(9) + "sb" + "ubeub"
}

// boosterJSON, boosterUBJ and the others are boosters with so many trees.
func boosterJSON(trees int) []byte {
	return fmt.Appendf(nil, `{"learner":{"attributes":{},"gradient_booster":{"model":{"gbtree_model_param":{"num_trees":"%d"},"trees":[%s]}}},"version":[3,2,0]}`, trees, strings.Repeat(`{"w":[1.5E0]},`, trees-1)+`{"w":[]}`)
}

func ubjKey(s string) string {
	return "L\x00\x00\x00\x00\x00\x00\x00" + string([]byte{byte(len(s))}) + s
}

func boosterUBJ(trees int) []byte {
	tree := "{" + ubjKey("w") + "[$d#L\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00}\x00\x00}]\x00" + ubjKey("id") + "i\x01" + "}"
	return []byte("{" + ubjKey("learner") + "{" + ubjKey("name") + "S" + ubjKey("gbtree") + ubjKey("trees") + "[" + strings.Repeat(tree, trees) + "]}" +
		ubjKey("version") + "[#L\x00\x00\x00\x00\x00\x00\x00\x03i\x03i\x02i\x00}")
}

func boosterText(trees int) []byte {
	return []byte("tree\nversion=v4\nnum_class=1\n\n" + strings.Repeat("Tree=0\nleaf_value=0.1 0.2\n\n", trees) + "end of trees\n\nfeature_importances:\n\nparameters:\n[seed: 0]\nend of parameters\n\npandas_categorical:null\n")
}

func boosterBytes(size int) []byte {
	return append([]byte{'C', 'B', 'M', '1', byte(size), byte(size >> 8), 0, 0}, make([]byte, size)...)
}

// orbaxOf is a save of Orbax's with these leaves, without a number.
func orbaxOf(dir string, leaves ...string) []wrote {
	var tree []string
	for _, leaf := range leaves {
		var keys []string
		for _, key := range strings.Split(leaf, "/") {
			keys = append(keys, fmt.Sprintf(`{"key": %q, "key_type": 2}`, key))
		}
		tree = append(tree, fmt.Sprintf(`"('%s',)": {"key_metadata": [%s], "value_metadata": {"value_type": "jax.Array"}}`, leaf, strings.Join(keys, ", ")))
	}
	return []wrote{{dir + "/_CHECKPOINT_METADATA", []byte(`{"init_timestamp_nsecs": 1795311135605142915, "commit_timestamp_nsecs": 1795311135703098974}`)},
		{dir + "/_sharding", []byte("{}")}, {dir + "/_METADATA", []byte(`{"tree_metadata": {` + strings.Join(tree, ", ") + `}}`)}}
}

// bundleOf is a bundle of TensorFlow's in a directory, under this name.
func bundleOf(stem string) []wrote {
	index, data := filetest.Bundle([]string{"tensor " + stem})
	return []wrote{{stem + ".data-00000-of-00001", data[0]}, {stem + ".index", index}}
}

// TestMoreCauses has more of what TestCauses has.
func TestMoreCauses(t *testing.T) {
	with := func(key, value string) string { return keyIn(key) + value }
	half := func(data []byte) []byte { return data[:len(data)/2] }
	picked := func(value string) []byte { return []byte("\x80\x02" + value + ".") }
	epoch := func(n int) []byte { return pickled("epoch", numberIn(n), "model", "}("+with("w", tensorIn)+"u") }
	taken := func(n int) []byte { return counted("total_steps", numberIn(n)) }
	for name, tt := range map[string]cause{
		"weights without what continues with them":      {files: []wrote{{"net_step10.pt", modelOnly()}, {"misc_step10.pt", pickled("optimizer", optimizerIn, "step", numberIn(10))}, {"net_step20.pt", modelOnly()}, {"misc_step20.pt", pickled("optimizer", optimizerIn, "step", numberIn(20))}, {"net_step30.pt", modelOnly()}}, path: "misc_step20.pt", step: 20, torn: "net_step30.pt"},
		"a count within the epoch in a name":            {files: []wrote{{"checkpoint-2.pth.tar", counted("epoch", numberIn(2))}, {"recovery-3-400.pth.tar", counted("epoch", numberIn(3))}}, path: "recovery-3-400.pth.tar", step: 3, unit: format.UnitEpoch},
		"what differs grows with the epoch":             {files: []wrote{{"ckpt-2-800.pth.tar", counted("epoch", numberIn(2))}, {"ckpt-3-1200.pth.tar", counted("epoch", numberIn(3))}}, path: "ckpt-3-1200.pth.tar", step: 1200},
		"the best in the directory of a run":            {files: []wrote{{"net,300epochs,b8/checkpoint.pth.tar", counted("epoch", numberIn(30))}, {"net,300epochs,b8/model_best.pth.tar", counted("epoch", numberIn(25))}}, path: "net,300epochs,b8/checkpoint.pth.tar", step: 30, unit: format.UnitEpoch},
		"a file for each agent, the last missing":       {files: []wrote{{"200/agent_0.pt", counted()}, {"200/agent_1.pt", counted()}, {"200/agent_2.pt", counted()}, {"300/agent_0.pt", counted()}, {"300/agent_1.pt", counted()}, {"300/agent_2.pt", counted()}, {"400/agent_0.pt", counted()}, {"400/agent_1.pt", counted()}}, path: "300", step: 300, torn: "400"},
		"the best in another directory, of steps":       {files: []wrote{{"train/net-300.pt", counted("step", numberIn(300))}, {"train/net-400.pt", counted("step", numberIn(400))}, {"best/net-400.pt", counted("step", numberIn(400))}}, path: "train/net-400.pt", step: 400},
		"bundles in the directory of a step":            {files: slices.Concat(bundleOf("step_1/generator"), bundleOf("step_1/discriminator"), bundleOf("step_2/generator"), bundleOf("step_2/discriminator"), bundleOf("step_3/generator")), path: "step_2", step: 2, torn: "step_3"},
		"a letter that counts something else":           {files: []wrote{{"bestE_epoch15_e29_f84_sNA.pth.tar", pickled("model", "}("+with("w", tensorIn)+"u", "optimizer", optimizerIn)}, {"epoch18_e31_f79_sNA.pth.tar", counted()}}, path: "epoch18_e31_f79_sNA.pth.tar", step: 18, unit: format.UnitEpoch},
		"a letter in the name of a data set":            {files: []wrote{{"s3dis-train-x_ckpt_latest.pth", epoch(63)}}, path: "s3dis-train-x_ckpt_latest.pth", step: 63, unit: format.UnitEpoch},
		"the best of the same step, written after":      {files: []wrote{{"checkpoint0009.pth", counted("epoch", numberIn(9))}, {"checkpoint.pth", counted("epoch", numberIn(12))}, {"checkpoint_best_ema.pth", counted("epoch", numberIn(12))}}, path: "checkpoint.pth", step: 12, unit: format.UnitEpoch},
		"what says where the state lies":                {files: []wrote{{"checkpoint/seed-7-best.pth", counted("epoch", numberIn(143))}, {"checkpoint/seed-7-basic.pth", counted("epoch", numberIn(150))}, {"seed-7-last-info.pth", pickled("epoch", numberIn(150), "args", "cargparse\nNamespace\n)\x81}("+with("seed", numberIn(7))+"ub", "last_checkpoint", "cpathlib\nPosixPath\n("+keyIn("a")+keyIn("b")+"tR")}}, path: "checkpoint/seed-7-basic.pth", step: 150, unit: format.UnitEpoch},
		"a second part of one kind":                     {files: []wrote{{"ema.pth", modelOnly()}, {"ema2.pth", modelOnly()}, {"generator.pth", modelOnly()}, {"optimizer_G.pth", adamOnly()}}, path: "generator.pth", step: -1},
		"an epoch behind an ending":                     {files: []wrote{{"net16-cocokp.pkl.epoch020", epoch(20)}, {"net16-cocokp.pkl.epoch040", epoch(40)}, {"net16-cocokp.pkl.log", []byte("{}")}}, path: "net16-cocokp.pkl.epoch040", step: 40, unit: format.UnitEpoch},
		"steps behind an ending, cut":                   {files: []wrote{{"net.pt.step-100", zipped(counted())}, {"net.pt.step-200", half(zipped(counted()))}}, path: "net.pt.step-100", step: 100},
		"an epoch behind that of a log":                 {files: []wrote{{"metrics.json.epoch1", []byte(`{"epoch": 1}`)}, {"train.log.epoch2", []byte("epoch 2\n")}}},
		"an ending with a version":                      {files: []wrote{{"model.pt7", zipped(counted("epoch", numberIn(87)))}}, path: "model.pt7", step: 87, unit: format.UnitEpoch},
		"an unknown ending with a version":              {files: []wrote{{"model_10.tn2", zipped(counted())}, {"model_20.tn2", zipped(counted())}}, path: "model_20.tn2", step: 20},
		"another thing's ending with a digit":           {files: []wrote{{"model_10.x2", zipped(counted())}, {"run.gpu1", zipped(counted())}}},
		"letters for three parts":                       {files: []wrote{{"D0010000.pt", modelOnly()}, {"G0010000.pt", modelOnly()}, {"O0010000.pt", pickled("optimG", optimizerIn)}, {"D0020000.pt", modelOnly()}, {"G0020000.pt", modelOnly()}, {"O0020000.pt", adamOnly()[:9]}}, path: "G0010000.pt", step: 10000},
		"letters without zeros":                         {files: []wrote{{"G500.pt", counted()}, {"D500.pt", counted()}, {"G1000.pt", counted()}, {"D1000.pt", counted()}}, path: "G1000.pt", step: 1000},
		"zeros behind a word of its own":                {files: []wrote{{"denoiser0090.pt", counted()}, {"denoiser0100.pt", counted()}}, path: "denoiser0100.pt", step: 100},
		"a number among words, in place":                {files: []wrote{{"BEST_checkpoint_coco_5_cap_per_img_3_min_word_freq.pth", counted("epoch", numberIn(9))}, {"checkpoint_coco_5_cap_per_img_3_min_word_freq.pth", half(counted("epoch", numberIn(12)))}}, path: "BEST_checkpoint_coco_5_cap_per_img_3_min_word_freq.pth", step: 9, unit: format.UnitEpoch},
		"a number among words that differs":             {files: []wrote{{"unet_3_coco_ckpt.pth", counted()}, {"unet_6_coco_ckpt.pth", counted()}}, path: "unet_6_coco_ckpt.pth", step: 6},
		"a fold before a word for the newest":           {files: []wrote{{"net_b7_ns_0_12", epoch(13)}, {"net_b7_ns_0_best_dice", epoch(13)}, {"net_b7_ns_0_13", epoch(14)}, {"net_b7_ns_0_last", epoch(14)}}, path: "net_b7_ns_0_last", step: 14, unit: format.UnitEpoch},
		"a total that grows":                            {files: []wrote{{"model_epoch_8.pth", taken(3789)}, {"model_epoch_latest.pth", taken(4210)}, {"model_epoch_9.pth", taken(4210)}}, path: "model_epoch_9.pth", step: 4210},
		"a total that was planned":                      {files: []wrote{{"model_epoch_8.pth", taken(9000)}, {"model_epoch_9.pth", taken(9000)}}, path: "model_epoch_9.pth", step: 9, unit: format.UnitEpoch},
		"a total that shrinks":                          {files: []wrote{{"model_epoch_7.pth", taken(10)}, {"model_epoch_8.pth", taken(90)}, {"model_epoch_9.pth", taken(50)}}, path: "model_epoch_9.pth", step: 9, unit: format.UnitEpoch},
		"moments of TensorFlow's":                       {files: []wrote{{"run/00050", picked("}(" + with("pi/w:0", twoFloats()) + with("pi/w/Adam:0", twoFloats()) + with("pi/w/Adam_1:0", twoFloats()) + "u")}}, path: "run/00050", step: 50},
		"a list of arrays of joblib's":                  {files: []wrote{{"best_params.jl", picked("](" + twoFloats() + twoFloats() + "e")}}},
		"the same under a word for a state":             {files: []wrote{{"state.joblib", picked("}(" + with("w", twoFloats()) + "u")}}},
		"a state of joblib's":                           {files: []wrote{{"run.joblib", picked("}(" + with("w", twoFloats()) + with("step", numberIn(70)) + with("optimizer", optimizerIn) + "u")}}, path: "run.joblib", step: 70},
		"objects and texts in arrays":                   {files: []wrote{{"run.joblib", picked("}(" + with("o", inlined("(I1\nt", "O8", "\x80\x02].")) + with("s", inlined("(I3\nt", "U2", "\x00"+string(blob(24)))) + with("step", numberIn(8)) + "u")}}, path: "run.joblib", step: 8},
		"an estimator":                                  {files: []wrote{{"model.joblib", picked(estimator())}, {"metrics.json", []byte(`{"acc": 1}`)}}},
		"the same, pickled, under a checkpoint":         {files: []wrote{{"checkpoint.pkl", picked(strings.ReplaceAll(estimator(), twoFloats(), tensorIn))}}},
		"an estimator of each epoch":                    {files: []wrote{{"sgd_epoch_5.joblib", picked(estimator())}, {"sgd_epoch_10.joblib", picked(estimator())}}, path: "sgd_epoch_10.joblib", step: 10, unit: format.UnitEpoch},
		"an estimator beside its epoch":                 {files: []wrote{{"mlp.joblib", picked("}(" + with("clf", estimator()) + with("epoch", numberIn(4)) + "u")}}, path: "mlp.joblib", step: 4, unit: format.UnitEpoch},
		"estimators in a dict":                          {files: []wrote{{"best_model.pkl", picked("}(" + with("model", strings.ReplaceAll(estimator(), twoFloats(), tensorIn)) + with("classes", "]("+keyIn("a")+keyIn("b")+"e") + "u")}}},
		"estimators in a tuple":                         {files: []wrote{{"model.joblib", picked("(" + estimator() + estimator() + "t")}}},
		"rounds in the name":                            {files: []wrote{{"xgb_round20.ubj", boosterUBJ(20)}, {"xgb_round40.ubj", boosterUBJ(40)}}, path: "xgb_round40.ubj", step: 40},
		"a number behind an ending":                     {files: []wrote{{"net.pth_100", zipped(counted())}, {"net.pth_200", zipped(counted())}}, path: "net.pth_200", step: 200},
		"a tree of parameters with generators":          {files: orbaxOf("state", "Dense_0/kernel", "Dropout_0/rngs/dropout/count")},
		"a tree with generators":                        {files: orbaxOf("state", "params/kernel", "rngs/dropout/count"), path: "state", step: -1},
		"boosters in JSON, the last cut":                {files: []wrote{{"model_round_0010.json", boosterJSON(10)}, {"model_round_0020.json", boosterJSON(20)}, {"model_round_0030.json", half(boosterJSON(30))}}, path: "model_round_0020.json", step: 20},
		"the same, cut behind a brace":                  {files: []wrote{{"m_10.json", boosterJSON(10)}, {"m_20.json", []byte(`{"learner":{"attributes":{}}`)}}, path: "m_10.json", step: 10},
		"boosters in UBJ":                               {files: []wrote{{"xgb_10.ubj", boosterUBJ(10)}, {"xgb_20.ubj", boosterUBJ(20)}, {"evals.json", []byte("{}")}}, path: "xgb_20.ubj", step: 20},
		"the same, cut behind a brace's byte":           {files: []wrote{{"xgb_10.ubj", boosterUBJ(10)}, {"xgb_20.ubj", boosterUBJ(20)[:strings.Index(string(boosterUBJ(20)), "}]")+1]}}, path: "xgb_10.ubj", step: 10},
		"boosters in text, the last cut":                {files: []wrote{{"model_iter_100.txt", boosterText(3)}, {"model_iter_200.txt", half(boosterText(6))}}, path: "model_iter_100.txt", step: 100},
		"boosters in bytes, the last cut":               {files: []wrote{{"m_0100.cbm", boosterBytes(300)}, {"m_0200.cbm", half(boosterBytes(300))}}, path: "m_0100.cbm", step: 100},
		"a booster in the directory of a step":          {files: []wrote{{"checkpoint_000001/model.ubj", boosterUBJ(5)}, {"checkpoint_000002/model.ubj", half(boosterUBJ(9))}}, path: "checkpoint_000001", step: 1},
		"a booster at the end":                          {files: []wrote{{"model.ubj", boosterUBJ(5)}, {"model.json", boosterJSON(5)}, {"model.txt", boosterText(2)}}},
		"other texts with numbers":                      {files: []wrote{{"eval_10.json", []byte(`{"learner": 3}`)}, {"eval_20.txt", []byte("tree of 20\n")}}},
		"three files of one stem, one cut":              {files: []wrote{{"iter_20.pdparams", modelOnly()}, {"iter_20.pdopt", adamOnly()}, {"iter_20.states", pickled("global_step", numberIn(2000))}, {"latest.pdparams", modelOnly()}, {"latest.pdopt", half(adamOnly())}, {"latest.states", pickled("global_step", numberIn(2100))}}, path: "iter_20.pdparams", step: 2000},
		"three files of one stem":                       {files: []wrote{{"latest.pdparams", modelOnly()}, {"latest.pdopt", adamOnly()}, {"latest.states", pickled("global_step", numberIn(2100))}}, path: "latest.pdparams", step: 2100},
		"a tree of parameters":                          {files: orbaxOf("state", "Dense_0/bias", "Dense_0/kernel", "BatchNorm_0/mean")},
		"a tree with an optimizer":                      {files: orbaxOf("state", "params/Dense_0/kernel", "opt_state/0/mu/Dense_0/kernel"), path: "state", step: -1},
		"a tree with a step":                            {files: orbaxOf("state", "params/Dense_0/kernel", "step"), path: "state", step: -1},
		"a tree without names":                          {files: orbaxOf("state", "0/Dense_0/kernel", "1/Dense_0/kernel"), path: "state", step: -1},
		"a bundle without a name":                       {files: append(bundleOf("policy/"), wrote{"policy/checkpoint", []byte("model_checkpoint_path: \"/tmp/policy/\"\n")}), path: "policy", step: -1},
		"the same in the directory itself":              {files: append(bundleOf(""), wrote{"checkpoint", []byte("model_checkpoint_path: \"/tmp/policy/\"\n")}), path: ".", step: -1},
		"statistics of each epoch above, written later": {files: []wrote{{"models/ckpt_1.pt", stateOf("step", 1)}, {"stats_1.pkl", picked("](I1\nI2\ne")}, {"stats_2.pkl", picked("](I1\nI2\ne")}}, path: "models/ckpt_1.pt", step: 1},
		"two runs, one deeper":                          {files: []wrote{{"finetune/checkpoint-4.pt", stateOf("step", 4)}, {"pretext/run/checkpoints/last.pt", stateOf("step", 12)}}, veto: true},
		"the same, of what is past":                     {files: []wrote{{"backup/run/checkpoints/last.pt", stateOf("step", 12)}, {"finetune/checkpoint-4.pt", stateOf("step", 4)}}, path: "finetune/checkpoint-4.pt", step: 4},
		"the same, of weights":                          {files: []wrote{{"exports/a/b/model.pt", modelOnly()}, {"finetune/checkpoint-4.pt", stateOf("step", 4)}}, path: "finetune/checkpoint-4.pt", step: 4},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), tt.judge)
	}
}

// TestBundleWithoutName: what points at such a bundle is left as it is.
func TestBundleWithoutName(t *testing.T) {
	tr := newTree(t)
	const pointer = "model_checkpoint_path: \"/tmp/policy/\"\n"
	for _, f := range append(bundleOf(""), wrote{"checkpoint", []byte(pointer)}) {
		tr.put(f.path, f.data)
	}
	c, o := chosenIn(t, os.DirFS(tr.dir))
	if c == nil {
		t.Fatalf("%+v", o)
	}
	was, err := repoint(tr.dir, *c)
	if was != "" || err != nil || tr.read("checkpoint") != pointer {
		t.Errorf("%q, %v, %s", was, err, tr.read("checkpoint"))
	}
}
