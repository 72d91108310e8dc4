package checkpoint

import (
	"os"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/format"
)

// TestBeside has states beside which lies what belongs to them, or is no better than they are: best ones, exports, counts.
func TestBeside(t *testing.T) {
	lightning := func(step int, optimizer bool) []byte {
		pairs := []string{"pytorch-lightning_version", keyIn("2.4.0"), "global_step", numberIn(step), "epoch", numberIn(1), "state_dict", "}(" + keyIn("w") + tensorIn + "u"}
		if optimizer {
			pairs = append(pairs, "optimizer_states", "]("+optimizerIn+"e")
		}
		return filetest.Zip(filetest.Record{Name: "archive/data.pkl", Data: pickled(pairs...)}, filetest.Record{Name: "archive/version", Data: []byte("3\n")})
	}
	namespace := "cargparse\nNamespace\n)\x81}(" + keyIn("id") + keyIn("fc") + keyIn("gpus") + "](" + numberIn(0) + "eub"
	infos := pickled("iter", numberIn(12000), "opt", namespace)
	for name, tt := range map[string]cause{
		"a backup of Keras's after a state": {files: []wrote{{"best.pt", counted()}, {"backup/latest.weights.h5", filetest.HDF5("layers", "optimizer")},
			{"backup/training_metadata.json", []byte(`{"epoch": 3, "batch": 0}`)}}, path: "backup", step: 3, unit: format.UnitEpoch},
		"an optimizer behind another's name":            {files: []wrote{{"model.bin", modelOnly()}, {"model.bin.optim", adamOnly()}}, path: "model.bin", step: -1},
		"the same, without a word":                      {files: []wrote{{"nmt.bin", modelOnly()}, {"nmt.bin.optim", adamOnly()}}, path: "nmt.bin", step: -1},
		"the same, of steps, the last without":          {files: []wrote{{"nmt_10.bin", modelOnly()}, {"nmt_10.bin.optim", adamOnly()}, {"nmt_20.bin", modelOnly()}}, path: "nmt_10.bin", step: 10},
		"a count in a field of an object's own":         {files: []wrote{{"snapshot.pt", counted("_global_step", numberIn(50000), "_global_episode", numberIn(100))}}, path: "snapshot.pt", step: 50000},
		"how far it is, in a pickle, in place":          {files: []wrote{{"model.pth", modelOnly()}, {"optimizer.pth", adamOnly()}, {"infos_fc.pkl", infos}, {"infos_fc-best.pkl", infos}}, path: "model.pth", step: -1},
		"the same, and the state is cut":                {files: []wrote{{"infos_fc.pkl", infos}, {"model.pth", append(counted()[:60], make([]byte, 400)...)}}, veto: true},
		"momentum in a file of its own":                 {files: []wrote{{"model.npz", arrays("w")}, {"momentum.npz", arrays("w")}, {"state.json", []byte(`{"step": 340}`)}}, path: "model.npz", step: 340},
		"a step in JSON beside a model and more":        {files: []wrote{{"model.npz", arrays("w")}, {"slow.npz", arrays("w")}, {"state.json", []byte(`{"step": 340}`)}}, path: "model.npz", step: 340},
		"a step in JSON beside two models":              {files: []wrote{{"my_model.npz", arrays("w")}, {"your_model.npz", arrays("w")}, {"state.json", []byte(`{"step": 340}`)}}},
		"items of one form under a name of nothing":     {files: []wrote{{"processed/val.pkl", []byte("\x80\x02](" + strings.Repeat("("+tensorIn+numberIn(1)+"t", 4) + "e.")}}},
		"the same under the name of a state":            {files: []wrote{{"checkpoint.pkl", []byte("\x80\x02](" + strings.Repeat("("+tensorIn+numberIn(1)+"t", 4) + "e.")}}, path: "checkpoint.pkl", step: -1},
		"the best without an optimizer, the latest cut": {files: []wrote{{"best.pt", pickled("model", "}("+keyIn("w")+tensorIn+"u", "epoch", numberIn(3))}, {"latest.pt", append(counted("epoch", numberIn(5))[:60], make([]byte, 400)...)}}, veto: true},
		"the same of one size":                          {files: []wrote{{"prev.pt", pickled("model", "}("+keyIn("w")+tensorIn+"u", "epoch", numberIn(3))}, {"latest.pt", pickled("model", "}("+keyIn("w")+tensorIn+"u", "epoch", numberIn(5))[:60]}}, path: "prev.pt", step: 3, unit: format.UnitEpoch},
		"options alone":                                 {files: []wrote{{"model.pth", modelOnly()}, {"infos.pkl", pickled("opt", namespace)}}},
		"exported weights of a trainer's in another":    {files: []wrote{{"checkpoints/epoch=0-step=4.ckpt", lightning(4, true)}, {"checkpoints/epoch=1-step=8.ckpt", lightning(8, true)}, {"best/best.ckpt", lightning(8, false)}}, path: "checkpoints/epoch=1-step=8.ckpt", step: 8},
		"the best and the latest, further down":         {files: []wrote{{"best/ckpts/step_5.pt", stateOf("step", 5)}, {"latest/ckpts/step_7.pt", stateOf("step", 7)}}, path: "latest/ckpts/step_7.pt", step: 7},
		"ranks with how many there are": {files: []wrote{{"100/w_tp_rank_world_size=0_2_pp_rank_world_size=0_1.pth", counted("trained_steps", numberIn(100))}, {"100/w_tp_rank_world_size=1_2_pp_rank_world_size=0_1.pth", counted("trained_steps", numberIn(100))},
			{"200/w_tp_rank_world_size=0_2_pp_rank_world_size=0_1.pth", counted("trained_steps", numberIn(200))}}, path: "100", step: 100},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), tt.judge)
	}
}

// TestSavesOfLibrariesBefore has saves under the names of a library that are not what it writes today.
func TestSavesOfLibrariesBefore(t *testing.T) {
	trainer := func(dir string, optimizer []byte) []wrote {
		return []wrote{{dir + "/pytorch_model.bin", modelOnly()}, {dir + "/training_args.bin", pickled("lr", numberIn(1))}, {dir + "/optimizer.pt", optimizer},
			{dir + "/scheduler.pt", pickled("last_epoch", numberIn(4), "_step_count", numberIn(5))}}
	}
	loop := func(dir string, optimizer []byte) []wrote {
		return []wrote{{dir + "/model.safetensors", weights()}, {dir + "/optimizer.bin", optimizer}}
	}
	join := func(lists ...[]wrote) (all []wrote) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	for name, tt := range map[string]cause{
		"the Trainer without a state of its own":        {files: join(trainer("checkpoint-500", adamOnly()), trainer("checkpoint-1000", adamOnly())), path: "checkpoint-1000", step: 1000},
		"the same, the last cut":                        {files: join(trainer("checkpoint-500", adamOnly()), trainer("checkpoint-1000", adamOnly()), trainer("checkpoint-1500", adamOnly())[:2]), path: "checkpoint-1000", step: 1000},
		"one of it, which may be whole":                 {files: trainer("checkpoint-500", adamOnly()), veto: true},
		"one of it, by its arguments the Trainer's own": {files: append(trainer("checkpoint-500", adamOnly()), wrote{"checkpoint-500/training_args.bin", []byte("\x80\x02ctransformers.training_args\nTrainingArguments\n)\x81" + strings.TrimPrefix(strings.TrimSuffix(string(pickled("output_dir", keyIn("out"), "save_strategy", keyIn("steps"))), "."), "\x80\x02") + "b.")})},
		"one of it, cut":                                {files: trainer("checkpoint-500", adamOnly()[:9])},
		"one of it, without what comes after":           {files: trainer("checkpoint-500", adamOnly())[:3]},
		"a loop under Accelerate's names":               {files: join(loop("checkpoint-100", adamOnly()), loop("checkpoint-200", adamOnly())), path: "checkpoint-200", step: 200},
		"one of it under Accelerate's names":            {files: loop("checkpoint-100", adamOnly()), veto: true},
		"one of it under Accelerate's names, cut":       {files: loop("checkpoint-100", adamOnly()[:9])},
		"what the Trainer of today began":               {files: join(trainer("checkpoint-500", adamOnly()), []wrote{{"checkpoint-500/rng_state.pth", pickled("cpu", tensorIn)}, {"checkpoint-500/trainer_state.json", []byte(`{"global_step": 500}`)}}, trainer("checkpoint-1000", adamOnly())), path: "checkpoint-500", step: 500},
		"the best of Lightning's, alone in a directory": {files: []wrote{{"best/best.ckpt", filetest.Zip(filetest.Record{Name: "archive/data.pkl", Data: pickled("pytorch-lightning_version", keyIn("2.4.0"), "global_step", numberIn(8), "state_dict", "}("+keyIn("w")+tensorIn+"u")})}}, veto: true},
		"a pickle under the ending of JSON":             {files: join(parts("100"), parts("200")), path: "200", step: 200},
		"a day, a time and a job between":               {files: []wrote{{"multirun/2024-05-02/09-00-00/0/checkpoints/last.ckpt", stateOf("step", 12)}}, path: "multirun/2024-05-02/09-00-00/0/checkpoints/last.ckpt", step: 12},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), tt.judge)
	}
}

// parts is a save in a directory, of which one file has the ending of text.
func parts(dir string) []wrote {
	return []wrote{{dir + "/model_tp0_pp0.pt", modelOnly()}, {dir + "/optimizer_tp0_pp0_zo0.pt", adamOnly()}, {dir + "/topo_tp0_pp0.json", pickled("m", numberIn(1))}}
}

// TestSizeOfWhatIsTorn: the bytes that are there are counted, also where a check ends before it has come to them.
func TestSizeOfWhatIsTorn(t *testing.T) {
	tr := newTree(t)
	tr.put("checkpoint-500/model.safetensors", weights())
	tr.put("checkpoint-500/training_args.bin", pickled("lr", numberIn(1)))
	s, err := (&Scanner{FS: os.DirFS(tr.dir)}).Scan(t.Context())
	if want := int64(len(weights()) + len(pickled("lr", numberIn(1)))); err != nil || len(s.Checkpoints) != 1 || s.Checkpoints[0].Complete || s.Checkpoints[0].Size != want {
		t.Errorf("%+v, %v; want %d bytes", s.Checkpoints, err, want)
	}
}
