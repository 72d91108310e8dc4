package checkpoint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
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
		"arrays between the opcodes, no ending":   {files: []wrote{{"00050", joblib()}, {"00100", joblib()}}, path: "00100", step: 100},
		"the same, cut":                           {files: []wrote{{"00050", joblib()}, {"00100", joblib()[:60]}}, path: "00050", step: 50},
		"a sum behind a pickle":                   {files: []wrote{{"ckpt_8.pkl", summed(8)}, {"ckpt_10.pkl", summed(10)}}, path: "ckpt_10.pkl", step: 10},
		"a sum behind a pickle, and one cut":      {files: []wrote{{"ckpt_8.pkl", summed(8)}, {"ckpt_10.pkl", summed(10)[:50]}}, path: "ckpt_8.pkl", step: 8},
		"a second pickle that was cut":            {files: []wrote{{"ckpt_8.pkl", counted("step", numberIn(8))}, {"ckpt_10.pkl", append(counted("step", numberIn(10)), counted()[:30]...)}}, path: "ckpt_8.pkl", step: 8},
		"bytes of a library in a pickle":          {files: []wrote{{"model_10.d3", bytesIn("torch")}, {"model_20.d3", bytesIn("torch")}}, path: "model_20.d3", step: 20},
		"bytes in samples":                        {files: []wrote{{"10.pkl", bytesIn("image")}, {"20.pkl", bytesIn("image")}}},
		"momenta beside what they are of":         {files: []wrote{{"model_iter10.pkl", momenta("conv_w", "conv_w_momentum")}, {"model_iter20.pkl", momenta("conv_w", "conv_w_momentum")}}, path: "model_iter20.pkl", step: 20},
		"a weight called momentum":                {files: []wrote{{"model_iter10.pkl", momenta("conv_w", "norm_momentum")}}},
		"an export above a state":                 {files: join(bundle("snapshots/policy/variables/variables"), []wrote{{"snapshots/policy/saved_model.pb", []byte("\x08\x01\x12\x05graph")}}, bundle("checkpoints/learner/ckpt-4")), path: "checkpoints/learner/ckpt-4", step: 4},
		"an export and nothing else":              {files: join(bundle("snapshots/policy/variables/variables"), []wrote{{"snapshots/policy/saved_model.pb", []byte("\x08\x01\x12\x05graph")}})},
		"files of ranks in place":                 {files: join(ranks("gpu", 20, 20, 20), []wrote{{"model.pt", modelOnly()}}), path: "checkpoint_gpu_0.pt", step: 20},
		"files of ranks in place, one cut":        {files: join(cut(ranks("gpu", 24, 24, 24, 20), 2), []wrote{{"model.pt", modelOnly()}}), veto: true},
		"files of cards, one cut":                 {files: cut(ranks("card", 24, 24, 20), 1), veto: true},
		"files of ranks of two saves":             {files: ranks("rank", 24, 24, 20, 20), veto: true},
		"an optimizer of another form":            {files: join(inParts(100, true)), path: "step_100", step: 100},
		"one that was cut":                        {files: join(inParts(90, true), inParts(100, false)), path: "step_90", step: 90},
		"one that is not there":                   {files: join(inParts(90, true), inParts(100, false)[:3]), path: "step_90", step: 90},
		"two parts of another form, and one torn": {files: join(inParts(90, true)[3:], []wrote{{"step_90/model/__0_0.distcp", []byte("shard")}, {"step_90/model/.metadata", filetest.DCPMetadata([]string{"__0_0.distcp"}, []int64{5})}}, inParts(100, true)[3:], []wrote{{"step_100/model/__0_0.distcp", []byte("shard")}}), path: "step_90", step: 90},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), tt.judge)
	}
}
