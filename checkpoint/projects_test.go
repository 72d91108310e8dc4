package checkpoint

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
)

// Contents of files, as programs write them: what stands in them decides.
const (
	tensorIn    = "cnumpy.core.multiarray\n_reconstruct\n)R"
	optimizerIn = "}(X\x05\x00\x00\x00state}X\x0c\x00\x00\x00param_groups]}au"
)

func keyIn(s string) string { return "X" + string([]byte{byte(len(s)), 0, 0, 0}) + s }

func numberIn(n int) string { return fmt.Sprintf("I%d\n", n) }

// pickled is a dict of these keys and values.
func pickled(pairs ...string) []byte {
	b := "\x80\x02}("
	for i := 0; i < len(pairs); i += 2 {
		b += keyIn(pairs[i]) + pairs[i+1]
	}
	return []byte(b + "u.")
}

// modelOnly is weights alone, adamOnly the state of an optimizer, and stateOf both with a count.
func modelOnly() []byte { return pickled("fc.weight", tensorIn, "fc.bias", tensorIn) }

func adamOnly() []byte { return []byte("\x80\x02" + optimizerIn + ".") }

func stateOf(key string, n int) []byte {
	return pickled("model", "}("+keyIn("w")+tensorIn+"u", "optimizer", optimizerIn, key, numberIn(n))
}

// arrays is a zip of numpy's, with these names.
func arrays(names ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: name + ".npy"})
		_, _ = w.Write([]byte("\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }          \n12345678"))
	}
	_ = z.Close()
	return b.Bytes()
}

// blob is of no form that is known.
func blob(size int) []byte { return bytes.Repeat([]byte{0, 1, 0xfe, 7}, size/4) }

// wrote is one file, written a minute after the one before it.
type wrote struct {
	path string
	data []byte
}

// TestProjects has directories in the ways in which programs of other people save, each in the order in which it is
// written: which one is resumed from, and of which step.
func TestProjects(t *testing.T) {
	for name, tt := range map[string]struct {
		files []wrote
		path  string // empty: nothing is resumed from
		step  int64  // -1: it says none
		unit  format.Unit
	}{
		"an optimizer beside the model, and how far in YAML, in place": {[]wrote{{"model.iter1000.npz", arrays("encoder_Wemb")}, {"model.npz", arrays("encoder_Wemb")},
			{"model.npz.optimizer.npz", arrays("adam_mt", "adam_vt", "adam_denoms")}, {"model.npz.progress.yml", []byte("epochs: 1\nbatches: 1000\nseed: [1]\n")},
			{"model.npz.yml", []byte("dim-emb: 4\n")}}, "model.npz", 1000, ""},
		"weights of each epoch with a step in YAML": {[]wrote{{"epoch_0.pt", modelOnly()}, {"epoch_0.yaml", []byte("epoch: 0\nstep: 100\nlrs:\n- 0.1\n")},
			{"epoch_1.pt", modelOnly()}, {"epoch_1.yaml", []byte("epoch: 1\nstep: 200\n")}, {"train.yaml", []byte("epoch: 100\n")}}, "epoch_1.pt", 200, ""},
		"the same, and the YAML of the last is not there yet": {[]wrote{{"epoch_0.pt", modelOnly()}, {"epoch_0.yaml", []byte("epoch: 0\nstep: 100\n")},
			{"epoch_1.pt", modelOnly()}}, "epoch_0.pt", 100, ""},
		"the step in JSON, in place":    {[]wrote{{"model.pt", modelOnly()}, {"optimizer.pt", adamOnly()}, {"training_state.json", []byte(`{"global_step": 200}`)}}, "model.pt", 200, ""},
		"the epoch in a file of text":   {[]wrote{{"model.pt", modelOnly()}, {"optimizer.pt", adamOnly()}, {"epoch.txt", []byte("7\n")}}, "model.pt", 7, format.UnitEpoch},
		"how far what has ended was":    {[]wrote{{"model.safetensors", weights()}, {"trainer_state.json", []byte(`{"global_step": 200}`)}, {"all_results.json", []byte(`{"epoch": 3}`)}}, "", 0, ""},
		"weights of steps and settings": {[]wrote{{"ckpt_1.pt", modelOnly()}, {"ckpt_1.json", []byte(`{"epochs": 3, "hidden": 4}`)}, {"config.yaml", []byte("step: 3\n")}}, "", 0, ""},
		"an optimizer for all":          {[]wrote{{"gen_100.pt", modelOnly()}, {"dis_100.pt", modelOnly()}, {"optimizer.pt", adamOnly()}, {"gen_200.pt", modelOnly()}, {"dis_200.pt", modelOnly()}, {"optimizer.pt", adamOnly()}}, "gen_200.pt", 200, ""},
		"weights of steps, and nothing": {[]wrote{{"gen_100.pt", modelOnly()}, {"gen_200.pt", modelOnly()}}, "", 0, ""},
		"both by a second name":         {[]wrote{{"voxel-100.tckpt", modelOnly()}, {"adam_optimizer-100.tckpt", adamOnly()}, {"voxel-200.tckpt", modelOnly()}}, "adam_optimizer-100.tckpt", 100, ""},
		"a snapshot of Chainer's":       {[]wrote{{"snapshot_iter_100", arrays("updater/model:main/l1/W", "updater/optimizer:main/l1/W/m")}, {"model_iter_100", arrays("predictor/l1/W")}}, "snapshot_iter_100", 100, ""},
		"a solver's, of another language": {[]wrote{{"net_iter_5.caffemodel", blob(400)}, {"net_iter_5.solverstate", blob(400)}, {"net_iter_10.caffemodel", blob(400)},
			{"net_iter_10.solverstate", blob(400)}, {"solver.prototxt", []byte("lr: 1\n")}}, "net_iter_10.caffemodel", 10, ""},
		"the same, the last cut":                        {[]wrote{{"net_iter_5.caffemodel", blob(400)}, {"net_iter_5.solverstate", blob(400)}, {"net_iter_10.caffemodel", blob(400)}, {"net_iter_10.solverstate", blob(200)}}, "net_iter_5.caffemodel", 5, ""},
		"numbers alone, of another language":            {[]wrote{{"1.mdl", blob(400)}, {"2.mdl", blob(400)}, {"tree", blob(400)}}, "2.mdl", 2, ""},
		"model and state, with a rank":                  {[]wrote{{"model_00001000.bin", blob(400)}, {"state_00001000_00000.bin", blob(400)}, {"DONE_00001000", nil}}, "model_00001000.bin", 1000, ""},
		"streams of a program's own":                    {[]wrote{{"streaming_train_state_20", blob(400)}, {"streaming_params_20", blob(400)}, {"metadata_20.pkl", pickled("step", numberIn(20))}}, "streaming_train_state_20", 20, ""},
		"bytes that are data by their names":            {[]wrote{{"predictions_epoch_3.bin", blob(400)}, {"samples_step_100.dat", blob(400)}, {"000001.bin", blob(400)}, {"vocab.bin", blob(400)}, {"tokenizer.model", blob(400)}, {"model-q4_0.gguf", blob(400)}}, "", 0, ""},
		"a picture of a step":                           {[]wrote{{"checkpoint_3.img", append([]byte("\x89PNG\r\n\x1a\n"), blob(400)...)}}, "", 0, ""},
		"the one before, counted":                       {[]wrote{{"checkpoint_prev0.ckpt", stateOf("seen", 5)}, {"checkpoint.ckpt", stateOf("seen", 6)}}, "checkpoint.ckpt", -1, ""},
		"a number and an epoch":                         {[]wrote{{"checkpoint-500-epoch-1/model.pt", modelOnly()}, {"checkpoint-500-epoch-1/optimizer.pt", adamOnly()}}, "checkpoint-500-epoch-1", 500, ""},
		"the epoch that was finished":                   {[]wrote{{"snapshot.pt", stateOf("finished_epoch", 7)}}, "snapshot.pt", 7, format.UnitEpoch},
		"a step of the epoch, and one of all":           {[]wrote{{"CKPT+2024-05-01+11-00-00+00/model.ckpt", modelOnly()}, {"CKPT+2024-05-01+11-00-00+00/optimizer.ckpt", adamOnly()}, {"CKPT+2024-05-01+11-00-00+00/brain.ckpt", []byte("loss: 0.1\noptimizer_step: 300\nstep: 0\n")}}, "CKPT+2024-05-01+11-00-00+00", 300, ""},
		"of several counts that of the name":            {[]wrote{{"step_20.pt", pickled("step", numberIn(80), "updates", numberIn(20), "optimizer", optimizerIn)}}, "step_20.pt", 20, ""},
		"a scheduler counts for itself":                 {[]wrote{{"epoch_4/model.pt", modelOnly()}, {"epoch_4/optimizer.pt", adamOnly()}, {"epoch_4/scheduler.pt", pickled("last_epoch", numberIn(9), "_step_count", numberIn(10))}}, "epoch_4", 4, format.UnitEpoch},
		"the best, copied later":                        {[]wrote{{"checkpoint_000100_400.pth", stateOf("model_step", 1)}, {"checkpoint_000200_800.pth", stateOf("model_step", 1)}, {"best_000100_400_reward_3.000.pth", stateOf("model_step", 1)}}, "checkpoint_000200_800.pth", 800, ""},
		"written over in place, after a copy":           {[]wrote{{"checkpoint_1.th", stateOf("seen", 1)}, {"checkpoint.th", stateOf("seen", 5)}}, "checkpoint.th", -1, ""},
		"two copies in turn":                            {[]wrote{{"G_copy0.pth", modelOnly()}, {"G_optim_copy0.pth", adamOnly()}, {"state_dict_copy0.pth", pickled("itr", numberIn(100))}, {"G_copy1.pth", modelOnly()}, {"G_optim_copy1.pth", adamOnly()}, {"state_dict_copy1.pth", pickled("itr", numberIn(200))}}, "state_dict_copy1.pth", 200, ""},
		"a step in one file, an optimizer in the other": {[]wrote{{"train/optimizer_last.pkl", adamOnly()}, {"train/training.pkl", pickled("updates", numberIn(200))}}, "train/optimizer_last.pkl", -1, ""},
		"two models, one with its optimizer":            {[]wrote{{"model.checkpoint", stateOf("number_training_updates", 200)}, {"model", pickled("model", "}("+keyIn("w")+tensorIn+"u", "number_training_updates", numberIn(100))}}, "model.checkpoint", 200, ""},
		"one save under a random name, and up":          {[]wrote{{"f3b1a2c4-0d5e-4b7a-9a61-1c2d3e4f5a6b.pt", stateOf("step", 5)}, {"0a9c2e44-77aa-4c1b-8b16-9e8d7c6b5a40.pt", stateOf("step", 6)}}, "0a9c2e44-77aa-4c1b-8b16-9e8d7c6b5a40.pt", 6, ""},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			cause{files: tt.files, path: tt.path, step: tt.step, unit: tt.unit}.judge(t)
		})
	}
}

// chosenIn is what a run with one node resumes from in a tree, nil for nothing.
func chosenIn(t *testing.T, fsys fs.FS) (*format.Checkpoint, Offer) {
	t.Helper()
	s, err := (&Scanner{FS: fsys}).Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o, err := Policy{}.Offer(s, History{}, Run{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if o.First().Fresh() {
		return nil, o
	}
	return Policy{}.At(s, History{}, o.First()), o
}
