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

// inParts is a save that has each part in a directory of its own, that of the optimizer written by
// torch.distributed.checkpoint, whose marker comes last.
func inParts(step int, marker bool) []wrote {
	dir := fmt.Sprint("step_", step)
	files := []wrote{{dir + "/model/model.safetensors", weights()}, {dir + "/rng/rng_rank_0.pt", pickled("torch", tensorIn)}, {dir + "/scheduler.pt", pickled("step", numberIn(step))},
		{dir + "/optim/__0_0.distcp", []byte("shard")}}
	if marker {
		files = append(files, wrote{dir + "/optim/.metadata", filetest.DCPMetadata([]string{"__0_0.distcp"}, []int64{5})})
	}
	return files
}

// joblib is a pickle of joblib's, with an array between its opcodes as it lies in memory.
func joblib() []byte {
	return []byte("\x80\x02}(" + keyIn("w") + "cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81}b\x02\xff\xfe\xfd" + string(blob(64)) + "u.")
}

// summed is a state with its sum and a mark behind it.
func summed(step int) []byte {
	return append(counted("step", numberIn(step)), []byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14HCAJSLHD")...)
}

// bytesIn is a dict of bytes and a text.
func bytesIn(key string) []byte {
	return pickled(key, "B\x90\x01\x00\x00"+string(blob(400)), "version", keyIn("1.0"))
}

// momenta are tensors in a dict.
func momenta(names ...string) []byte {
	var blobs string
	for _, name := range names {
		blobs += keyIn(name) + tensorIn
	}
	return pickled("blobs", "}("+blobs+"u", "cfg", keyIn("text"))
}

// zipped is what torch.save makes of a pickle.
func zipped(pickle []byte) []byte {
	return filetest.Zip(filetest.Record{Name: "archive/data.pkl", Data: pickle}, filetest.Record{Name: "archive/version", Data: []byte("3\n")})
}

// fieldsIn is a zip of a program's own, with these fields beside its tensors.
func fieldsIn(fields string) []byte {
	return filetest.Zip(filetest.Record{Name: "data", Data: []byte(fields)}, filetest.Record{Name: "policy.optimizer.pth", Data: zipped(adamOnly())})
}

// npy is an array of numpy's.
func npy() []byte {
	return []byte("\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }          \n12345678")
}

// bundle is one of TensorFlow's.
func bundle(stem string) []wrote {
	index, data := filetest.Bundle([]string{"first"})
	return []wrote{{stem + ".data-00000-of-00001", data[0]}, {stem + ".index", index}}
}

// TestForms has saves of several files and directories, the parts of which are of different forms.
func TestForms(t *testing.T) {
	join := func(all ...[]wrote) (files []wrote) {
		for _, f := range all {
			files = append(files, f...)
		}
		return files
	}
	ranks := func(word string, steps ...int) (files []wrote) {
		for rank, step := range steps {
			files = append(files, wrote{fmt.Sprintf("checkpoint_%s_%d.pt", word, rank), counted("global_step", numberIn(step))})
		}
		return files
	}
	cut := func(files []wrote, i int) []wrote {
		files[i].data = files[i].data[:40]
		return files
	}
	for name, tt := range map[string]cause{
		"arrays between the opcodes, no ending":             {files: []wrote{{"00050", joblib()}, {"00100", joblib()}}, path: "00100", step: 100},
		"the same, cut":                                     {files: []wrote{{"00050", joblib()}, {"00100", joblib()[:60]}}, path: "00050", step: 50},
		"a sum behind a pickle":                             {files: []wrote{{"ckpt_8.pkl", summed(8)}, {"ckpt_10.pkl", summed(10)}}, path: "ckpt_10.pkl", step: 10},
		"a sum behind a pickle, and one cut":                {files: []wrote{{"ckpt_8.pkl", summed(8)}, {"ckpt_10.pkl", summed(10)[:50]}}, path: "ckpt_8.pkl", step: 8},
		"a second pickle that was cut":                      {files: []wrote{{"ckpt_8.pkl", counted("step", numberIn(8))}, {"ckpt_10.pkl", append(counted("step", numberIn(10)), counted()[:30]...)}}, path: "ckpt_8.pkl", step: 8},
		"bytes of a library in a pickle":                    {files: []wrote{{"model_10.d3", bytesIn("torch")}, {"model_20.d3", bytesIn("torch")}}, path: "model_20.d3", step: 20},
		"bytes in samples":                                  {files: []wrote{{"10.pkl", bytesIn("image")}, {"20.pkl", bytesIn("image")}}},
		"momenta beside what they are of":                   {files: []wrote{{"model_iter10.pkl", momenta("conv_w", "conv_w_momentum")}, {"model_iter20.pkl", momenta("conv_w", "conv_w_momentum")}}, path: "model_iter20.pkl", step: 20},
		"a weight called momentum":                          {files: []wrote{{"model_iter10.pkl", momenta("conv_w", "norm_momentum")}}},
		"an export above a state":                           {files: join(bundle("snapshots/policy/variables/variables"), []wrote{{"snapshots/policy/saved_model.pb", []byte("\x08\x01\x12\x05graph")}}, bundle("checkpoints/learner/ckpt-4")), path: "checkpoints/learner/ckpt-4", step: 4},
		"an export and nothing else":                        {files: join(bundle("snapshots/policy/variables/variables"), []wrote{{"snapshots/policy/saved_model.pb", []byte("\x08\x01\x12\x05graph")}})},
		"a directory for the last one":                      {files: []wrote{{"step-10/checkpoint.pth", stateOf("step", 10)}, {"step-20/checkpoint.pth", stateOf("step", 20)}, {"lastlog/checkpoint.pth", stateOf("step", 21)}}, path: "lastlog", step: 21},
		"progress beside weights, and a state":              {files: []wrote{{"training_checkpoints/best.ckpt", stateOf("step", 20)}, {"training_checkpoints/latest.ckpt", stateOf("step", 30)}, {"model_weights.safetensors", weights()}, {"training_progress.json", []byte(`{"steps": 30, "epoch": 3}`)}}, path: "training_checkpoints/latest.ckpt", step: 30},
		"progress beside weights alone":                     {files: []wrote{{"model_weights.safetensors", weights()}, {"training_progress.json", []byte(`{"steps": 30, "epoch": 3}`)}}, path: "model_weights.safetensors", step: 30},
		"states under the ending of arrays":                 {files: []wrote{{"args_40.pickle", pickled("current_epoch", numberIn(40))}, {"optim_40.npy", zipped(adamOnly())}, {"net_40.npy", zipped(modelOnly())}}, path: "net_40.npy", step: 40, unit: format.UnitEpoch},
		"arrays under their ending":                         {files: []wrote{{"step_40.npy", npy()}}},
		"an optimizer under another name, the last missing": {files: []wrote{{"voxelnet-10.pt", modelOnly()}, {"adam_optimizer-10.pt", adamOnly()}, {"voxelnet-20.pt", modelOnly()}, {"adam_optimizer-20.pt", adamOnly()}, {"voxelnet-30.pt", modelOnly()}}, path: "voxelnet-20.pt", step: 20},
		"two series and one optimizer":                      {files: []wrote{{"voxel-10.pt", modelOnly()}, {"adam_optimizer-10.pt", adamOnly()}, {"voxel-20.pt", modelOnly()}, {"adam_optimizer-20.pt", adamOnly()}, {"point-30.pt", modelOnly()}}, path: "adam_optimizer-20.pt", step: 20},
		"a name made of words for a count":                  {files: []wrote{{"net.pth", counted("steps_taken", numberIn(12))}}, path: "net.pth", step: 12},
		"the same of epochs":                                {files: []wrote{{"net.pth", counted("lastEpochIdx", numberIn(12))}}, path: "net.pth", step: 12, unit: format.UnitEpoch},
		"the same, of a model, not of the training":         {files: []wrote{{"net.pth", counted("warmup_steps", numberIn(12), "best_epoch", numberIn(3), "total_epochs", numberIn(90), "log_iters", numberIn(9))}}, path: "net.pth", step: -1},
		"copies of what it was before":                      {files: []wrote{{"ckpt.pt.1", counted("epoch", numberIn(11))}, {"ckpt.pt", counted("epoch", numberIn(12))}}, path: "ckpt.pt", step: 12, unit: format.UnitEpoch},
		"the same, the last cut":                            {files: []wrote{{"ckpt.pt.1", counted("epoch", numberIn(11))}, {"ckpt.pt", counted("epoch", numberIn(12))[:50]}}, path: "ckpt.pt.1", step: 11, unit: format.UnitEpoch},
		"numbers behind an ending that are steps":           {files: []wrote{{"ckpt.pt.1", counted()}, {"ckpt.pt.2", counted()}}, path: "ckpt.pt.2", step: 2},
		"the data and the size in the name of a model":      {files: []wrote{{"vit_b16_224_in21k_bs256.pth", counted("epoch", numberIn(12))}}, path: "vit_b16_224_in21k_bs256.pth", step: 12, unit: format.UnitEpoch},
		"the last epoch in a text":                          {files: []wrote{{"weights.pt", modelOnly()}, {"optim.pt", adamOnly()}, {"last_epoch.txt", []byte("12")}}, path: "weights.pt", step: 12, unit: format.UnitEpoch},
		"an epoch in a dict of a program's own":             {files: []wrote{{"checkpoint.pth", counted("reporter", "}("+keyIn("epoch")+numberIn(12)+"u", "settings", "}("+keyIn("epoch")+numberIn(90)+"u")}}, path: "checkpoint.pth", step: 12, unit: format.UnitEpoch},
		"two dicts that say one":                            {files: []wrote{{"checkpoint.pth", counted("reporter", "}("+keyIn("epoch")+numberIn(12)+"u", "tracker", "}("+keyIn("epoch")+numberIn(9)+"u")}}, path: "checkpoint.pth", step: -1},
		"runs by their dates, of one a single file":         {files: []wrote{{"2026-11-20_10-00-00/ckpt_30.pt", stateOf("step", 30)}, {"2026-11-21_10-00-00/ckpt_11.pt", stateOf("step", 11)}, {"2026-11-21_10-00-00/ckpt_12.pt", stateOf("step", 12)}}, path: "2026-11-21_10-00-00/ckpt_12.pt", step: 12},
		"how many parameters a model has":                   {files: []wrote{{"llama2-7b-1000.pt", counted()}, {"llama2-7b-2000.pt", counted()}}, path: "llama2-7b-2000.pt", step: 2000},
		"the same in millions":                              {files: []wrote{{"gpt2_124M_1000.pt", counted()}, {"gpt2_124M_2000.pt", counted()}}, path: "gpt2_124M_2000.pt", step: 2000},
		"a save in directories by their dates":              {files: join(dated("11"), dated("12"), dated("13")), path: "CKPT+2026-11-20+13-00-00", step: -1},
		"the same, a part of the last missing":              {files: join(dated("11"), dated("12"), without(dated("13"), 0)), path: "CKPT+2026-11-20+12-00-00", step: -1},
		"a part without an ending":                          {files: join(scheduled("step_10", 0), scheduled("step_20", 0)), path: "step_20", step: 20},
		"a part without an ending, cut":                     {files: join(scheduled("step_10", 0), scheduled("step_20", 5)), path: "step_10", step: 10},
		"the last without its model, beside the best":       {files: []wrote{{"best/model.pt", modelOnly()}, {"best/optimizer.pt", adamOnly()}, {"last/optimizer.pt", adamOnly()}}, path: "best", step: -1},
		"a part two levels down, cut":                       {files: join(policies("checkpoint_10", 0), policies("checkpoint_20", 9)), path: "checkpoint_10", step: 10},
		"an optimizer of one step and a model of another":   {files: []wrote{{"epoch_11/optimizer.pt", adamOnly()}, {"epoch_11/scheduler.pt", pickled("last_epoch", numberIn(4), "_step_count", numberIn(5))}, {"epoch_12/model.pt", modelOnly()}}},
		"a bundle in a directory of each step":              {files: join(bundled("step_100", "model/weights"), bundled("step_200", "model/weights")), path: "step_200", step: 200},
		"the same, the data cut":                            {files: join(bundled("step_100", "model/weights"), short(bundled("step_200", "model/weights"), 0)), path: "step_100", step: 100},
		"the same, without its index":                       {files: join(bundled("step_100", "model/weights"), without(bundled("step_200", "model/weights"), 1)), path: "step_100", step: 100},
		"the same, without its data":                        {files: join(bundled("step_100", "model/weights"), without(bundled("step_200", "model/weights"), 0)), path: "step_100", step: 100},
		"a bundle beside the optimizer":                     {files: join(bundled("step_100", "model"), bundled("step_200", "model")), path: "step_200", step: 200},
		"the same, the index cut":                           {files: join(bundled("step_100", "model"), short(bundled("step_200", "model"), 1)), path: "step_100", step: 100},
		"a saved model in a directory of each step":         {files: join(exported("step_100"), exported("step_200")), path: "step_200", step: 200},
		"the same, the variables cut":                       {files: join(exported("step_100"), short(exported("step_200"), 0)), path: "step_100", step: 100},
		"the same, without its graph":                       {files: join(exported("step_100"), without(exported("step_200"), 2)), path: "step_100", step: 100},
		"bundles in a directory with a number":              {files: join(bundle("run_3/ckpt-7"), bundle("run_3/ckpt-8"), []wrote{{"run_3/vocab.pkl", pickled("a", numberIn(1))}}), path: "run_3/ckpt-8", step: 8},
		"a count that may be what is to be done":            {files: []wrote{{"net.pth", counted("num_iterations", numberIn(4200))}}, path: "net.pth", step: 4200},
		"the same, where a name says another":               {files: []wrote{{"net_100.pth", counted("total_steps", numberIn(5000))}, {"net_200.pth", counted("total_steps", numberIn(5000))}}, path: "net_200.pth", step: 200},
		"the same beside an epoch":                          {files: []wrote{{"net.pth", counted("epoch", numberIn(7), "total_steps", numberIn(5000))}}, path: "net.pth", step: 7, unit: format.UnitEpoch},
		"a dict in a file of numpy's":                       {files: []wrote{{"state.npy", objects("epoch", numberIn(7), "w", tensorIn)}}, path: "state.npy", step: 7, unit: format.UnitEpoch},
		"an array of texts in a file of numpy's":            {files: []wrote{{"state.npy", objects()}}},
		"steps in a zip":                                    {files: []wrote{{"CartPole-v1.zip", fieldsIn(`{"num_timesteps": 64, "n_epochs": 10}`)}}, path: "CartPole-v1.zip", step: 64},
		"what is to be done in a zip":                       {files: []wrote{{"CartPole-v1.zip", fieldsIn(`{"total_timesteps": 64, "num_steps": 10}`)}}, path: "CartPole-v1.zip", step: -1},
		"files of ranks in place":                           {files: join(ranks("gpu", 20, 20, 20), []wrote{{"model.pt", modelOnly()}}), path: "checkpoint_gpu_0.pt", step: 20},
		"files of ranks in place, one cut":                  {files: join(cut(ranks("gpu", 24, 24, 24, 20), 2), []wrote{{"model.pt", modelOnly()}}), veto: true},
		"files of cards, one cut":                           {files: cut(ranks("card", 24, 24, 20), 1), veto: true},
		"files of ranks of two saves":                       {files: ranks("rank", 24, 24, 20, 20), veto: true},
		"an optimizer of another form":                      {files: join(inParts(100, true)), path: "step_100", step: 100},
		"one that was cut":                                  {files: join(inParts(90, true), inParts(100, false)), path: "step_90", step: 90},
		"one that is not there":                             {files: join(inParts(90, true), inParts(100, false)[:3]), path: "step_90", step: 90},
		"two parts of another form, and one torn":           {files: join(inParts(90, true)[3:], []wrote{{"step_90/model/__0_0.distcp", []byte("shard")}, {"step_90/model/.metadata", filetest.DCPMetadata([]string{"__0_0.distcp"}, []int64{5})}}, inParts(100, true)[3:], []wrote{{"step_100/model/__0_0.distcp", []byte("shard")}}), path: "step_90", step: 90},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), tt.judge)
	}
}

// TestVersions has directories that one training run has written, and such of several.
func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		paths []string
		want  bool
	}{
		{[]string{"checkpoint-0", "checkpoint-100"}, true},
		{[]string{"checkpoint--1", "checkpoint-0", "checkpoint-100"}, true}, // the last has a number below zero
		{[]string{"run-a", "run-b"}, false},
		{[]string{"a--1", "b-1"}, false},
	} {
		if got := format.Versions(tt.paths); got != tt.want {
			t.Errorf("%v: %v", tt.paths, got)
		}
	}
}

// TestVerdicts has directories, and for each checkpoint there why it is not whole.
func TestVerdicts(t *testing.T) {
	for name, tt := range map[string]struct {
		files []wrote
		want  string
	}{
		"numbers with a point":                   {[]wrote{{"checkpoint.pt", counted("epoch", numberIn(13))}, {"checkpoints/checkpoint_3.0.pt", counted("epoch", numberIn(12))}, {"checkpoints/checkpoint_4.0.pt", counted("epoch", numberIn(13))}}, "checkpoint.pt:"},
		"an empty one, no ending":                {[]wrote{{"model_10", counted("iteration", numberIn(10))}, {"model_20", nil}}, "model_20:empty_file model_10:"},
		"an optimizer that is missing, by times": {[]wrote{{"1795650000456/model.pt", modelOnly()}, {"1795650000456/optim.pt", adamOnly()}, {"1795657500123/model.pt", modelOnly()}, {"1795657500123/optim.pt", adamOnly()}, {"1795659300789/model.pt", modelOnly()}}, "1795659300789:missing_shard 1795657500123: 1795650000456:"},
		"an empty one, alone":                    {[]wrote{{"model_20", nil}}, ""},
	} {
		tr := newTree(t)
		for _, f := range tt.files {
			tr.put(f.path, f.data)
		}
		s, err := (&Scanner{FS: os.DirFS(tr.dir)}).Scan(t.Context())
		var got []string
		for _, c := range s.Checkpoints {
			got = append(got, c.Path+":"+string(c.Reason))
		}
		if strings.Join(got, " ") != tt.want || err != nil {
			t.Errorf("%s: %v, %v; want %s", name, got, err, tt.want)
		}
	}
}

// objects is what numpy.save writes of a dict: an array of one object, which is pickled.
func objects(pairs ...string) []byte {
	header := "{'descr': '|O', 'fortran_order': False, 'shape': (), }\n"
	dict := strings.TrimSuffix(strings.TrimPrefix(string(pickled(pairs...)), "\x80\x02"), ".")
	return []byte("\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header +
		"\x80\x02cnumpy._core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR(K\x01)cnumpy\ndtype\nX\x02\x00\x00\x00O8\x89\x88\x87R\x89](" + dict + "etb.")
}

// bundled is a save of a step with a bundle of TensorFlow's and an optimizer of a program's own.
func bundled(dir, stem string) []wrote {
	return append(bundle(dir+"/"+stem), wrote{dir + "/optimizer.pkl", adamOnly()}, wrote{dir + "/state.json", []byte(`{"epochs": 4}`)})
}

// exported is the same with a saved model.
func exported(dir string) []wrote {
	return append(bundle(dir+"/saved/variables/variables"), wrote{dir + "/saved/saved_model.pb", []byte("\x08\x01\x12\x05graph")}, wrote{dir + "/optimizer.pkl", adamOnly()})
}

// short cuts one of these files, and without leaves it away.
func short(files []wrote, i int) []wrote {
	files[i].data = files[i].data[:len(files[i].data)/2]
	return files
}

func without(files []wrote, i int) []wrote { return slices.Delete(files, i, i+1) }

// dated is a save in a directory that is called after its time.
func dated(hour string) []wrote {
	dir := "CKPT+2026-11-20+" + hour + "-00-00"
	return []wrote{{dir + "/model.ckpt", modelOnly()}, {dir + "/optimizer.ckpt", adamOnly()}, {dir + "/counter.ckpt", zipped(pickled("n", numberIn(1)))}}
}

// scheduled is a save with a file without an ending, from the end of which so many bytes are cut.
func scheduled(dir string, short int) []wrote {
	scheduler := zipped(pickled("last_epoch", numberIn(4), "_step_count", numberIn(5)))
	return []wrote{{dir + "/model.pt", modelOnly()}, {dir + "/optimizer.pt", adamOnly()}, {dir + "/lr_scheduler", scheduler[:len(scheduler)-short]}}
}

// policies is a save with a part in a directory of a directory, from the end of which so many bytes are cut.
func policies(dir string, short int) []wrote {
	policy := adamOnly()
	return []wrote{{dir + "/algorithm_state.pkl", pickled("policies", keyIn("default"))}, {dir + "/policies/default/policy_state.pkl", policy[:len(policy)-short]}}
}
