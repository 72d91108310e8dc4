package checkpoint

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/format"
)

// packed is MessagePack of flax's: a dict of these keys and values, and an array.
func packed(pairs ...string) []byte {
	b := string([]byte{0x80 | byte(len(pairs)/2)})
	for i := 0; i < len(pairs); i += 2 {
		b += string([]byte{0xa0 | byte(len(pairs[i]))}) + pairs[i] + pairs[i+1]
	}
	return []byte(b)
}

const packedArray = "\xc7\x11\x01\x93\x91\x01\xa7float32\xc4\x04\x00\x00\x80?"

// packedNumber is an array of flax's without dimensions.
func packedNumber(n int) string {
	return "\xc7\x0e\x01\x93\x90\xa5int32\xc4\x04" + string([]byte{byte(n), byte(n >> 8), 0, 0})
}

// adamPacked is the state of an optimizer of optax's, as flax packs it.
func adamPacked() []byte {
	return packed("0", string(packed("count", packedNumber(7), "mu", packedArray, "nu", packedArray)), "1", string(packed()))
}

// counted is weights, the state of an optimizer, and these counts.
func counted(pairs ...string) []byte {
	return pickled(append([]string{"model", "}(" + keyIn("w") + tensorIn + "u", "optimizer", optimizerIn}, pairs...)...)
}

// zarrs are arrays of zarr's, a directory for each of these names in a directory.
func zarrs(dir string, names ...string) (files []wrote) {
	for _, name := range names {
		files = append(files, wrote{dir + "/" + name + "/.zarray", []byte(`{"shape": [2, 2], "chunks": [2, 2], "zarr_format": 2}`)},
			wrote{dir + "/" + name + "/0.0", []byte("\x28\xb5\x2f\xfd\x20\x10\x81\x00\x00abcdefghijklmnop")})
	}
	return files
}

// cause is a directory, and what is to be resumed from there.
type cause struct {
	files []wrote
	path  string // empty: nothing is resumed from
	step  int64  // -1: it says none
	unit  format.Unit
	veto  bool
	torn  string // one that is not whole
}

// TestCauses has directories in which it does not show at first sight where the training is, each in the order in which it is
// written: which state is resumed from, and of which step.
func TestCauses(t *testing.T) {
	join := func(lists ...[]wrote) (all []wrote) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	with := func(key, value string) string { return keyIn(key) + value }
	for name, tt := range map[string]cause{
		"content goes before a name": {files: []wrote{{"state_dict.pth", pickled("models_state_dict", "](}("+with("w", tensorIn)+"ue", "optimizers_state_dict", "]("+optimizerIn+"e")},
			{"trial_state.pkl", pickled("trial", numberIn(1), "best", "N")}}, path: "state_dict.pth", step: -1},
		"numbers of a text that is compressed": {files: []wrote{{"model_epoch_1.pth", modelOnly()}, {"model_epoch_1_opt.pth", adamOnly()}, {"model_epoch_1_stats.jgz", gzipped(`{"epoch": 1}`)},
			{"model_epoch_2.pth", modelOnly()}, {"model_epoch_2_stats.jgz", gzipped(`{"epoch": 2}`)}}, path: "model_epoch_1.pth", step: 1, unit: format.UnitEpoch},
		"numbers alone, compressed":                      {files: []wrote{{"train_epoch_2_stats.jgz", gzipped(`{"epoch": 2}`)}}},
		"a directory under a temporary name":             {files: join(zarrs("checkpoint_20", "target.w", "state.param_states.w.v"), []wrote{{"checkpoint_20/checkpoint", packed("version", "\x03")}}, zarrs("checkpoint_30.tmp-1714560000", "target.w", "state.param_states.w.v")), path: "checkpoint_20", step: 20},
		"files under temporary names":                    {files: []wrote{{"ckpt_2.pt", stateOf("step", 2)}, {"ckpt_3.pt.tmp-1714560000", stateOf("step", 3)}, {"ckpt_4.tmp.pt", stateOf("step", 4)}, {"tmp_ckpt_5.pt", stateOf("step", 5)}, {"ckpt_6.pt.part", stateOf("step", 6)}, {"ckpt_7.pt.incomplete", stateOf("step", 7)}}, path: "ckpt_2.pt", step: 2},
		"arrays, a directory for each":                   {files: join(zarrs("step-10", "model/w", "opt_state/mu/w", "step"), []wrote{{"step-10/metadata.json", []byte(`{"step": 10}`)}}, zarrs("step-20", "model/w", "opt_state/mu/w", "step"), []wrote{{"step-20/metadata.json", []byte(`{"step": 20}`)}}), path: "step-20", step: 20},
		"the same, without what comes last":              {files: join(zarrs("step-10", "model/w", "opt_state/mu/w"), []wrote{{"step-10/metadata.json", []byte(`{"step": 10}`)}}, zarrs("step-20", "model/w", "opt_state/mu/w")), path: "step-10", step: 10},
		"the same, without some of them":                 {files: join(zarrs("step-10", "model/Dense_1", "opt_state/mu/Dense_1"), zarrs("step-20", "model/Dense_1")), path: "step-10", step: 10},
		"the same, without one's bytes":                  {files: join(zarrs("step-10", "model/w", "opt_state/mu/w"), zarrs("step-20", "model/w", "opt_state/mu/w")[:3]), path: "step-10", step: 10},
		"arrays of a model alone":                        {files: zarrs("step-10", "model/Dense_1/w", "model/Dense_2/w")},
		"an optimizer beside losses":                     {files: []wrote{{"trainer.pt", pickled("loss_module", "}("+with("actor", "}("+with("w", tensorIn)+"u")+with("optimizer", optimizerIn)+"u", "state", "}("+with("collected_frames", numberIn(200))+"u")}}, path: "trainer.pt", step: 200},
		"statistics of the same epoch":                   {files: []wrote{{"checkpoint.pth.tar", counted("epoch", numberIn(30))}, {"stats0.pkl", pickled("epoch", numberIn(30), "loss", "N")}}, path: "checkpoint.pth.tar", step: 30, unit: format.UnitEpoch},
		"a directory of saves in parts":                  {files: []wrote{{"models/weights_7/encoder.pth", modelOnly()}, {"models/weights_7/adam.pth", adamOnly()}, {"models/weights_8/encoder.pth", modelOnly()}, {"models/weights_8/adam.pth", adamOnly()}, {"models/weights_9/encoder.pth", modelOnly()}}, path: "models/weights_8", step: 8},
		"a hidden name":                                  {files: []wrote{{"latest.pth", pickled("state_dict", "}("+with("w", tensorIn)+"u", "extra_state", "}("+with("step", numberIn(200))+"u")}, {".run-resume-state.pth", counted("step", numberIn(205))}}, path: ".run-resume-state.pth", step: 205},
		"weights with a step written after":              {files: []wrote{{".run-resume-state.pth", counted("step", numberIn(205))}, {"latest.pth", pickled("state_dict", "}("+with("w", tensorIn)+"u", "extra_state", "}("+with("step", numberIn(210))+"u")}}, path: ".run-resume-state.pth", step: 205},
		"a hidden one that is being written":             {files: []wrote{{"checkpoint.pt", stateOf("step", 2)}, {".checkpoint.pt", stateOf("step", 3)}}, path: "checkpoint.pt", step: 2},
		"weights beside a state that is cut":             {files: []wrote{{"periodic-10.pth", pickled("epoch", numberIn(10), "model", "}("+with("w", tensorIn)+"u")}, {"checkpoint.pth", append(counted("epoch", numberIn(12))[:60], make([]byte, 200)...)}}, veto: true},
		"two runs by their dates":                        {files: []wrote{{"2024-05-01_120000/models/step-000029999.ckpt", stateOf("step", 29999)}, {"2024-05-02_090000/models/step-000004000.ckpt", stateOf("step", 4000)}}, path: "2024-05-02_090000/models/step-000004000.ckpt", step: 4000},
		"saves under random names":                       {files: []wrote{{"3f2a9c1e4b6d8a7090ab12cd34ef5678/state.pt", stateOf("step", 5)}, {"0f2a9c1e4b6d8a7090ab12cd34ef5678/state.pt", stateOf("step", 6)}}, path: "0f2a9c1e4b6d8a7090ab12cd34ef5678/state.pt", step: 6},
		"runs under random names":                        {files: []wrote{{"3f2a9c1e4b6d8a7090ab12cd34ef5678/ckpt_5100.pt", stateOf("step", 5100)}, {"0f2a9c1e4b6d8a7090ab12cd34ef5678/ckpt_1000.pt", stateOf("step", 1000)}}, veto: true},
		"a run under a random name":                      {files: []wrote{{"3f2a9c1e4b6d8a7090ab12cd34ef5678/ckpt_5100.pt", stateOf("step", 5100)}}, path: "3f2a9c1e4b6d8a7090ab12cd34ef5678/ckpt_5100.pt", step: 5100},
		"an optimizer of optax's, in place":              {files: []wrote{{"flax_model.msgpack", packed("w", packedArray)}, {"opt_state.msgpack", adamPacked()}, {"training_state.json", []byte(`{"step": 1000, "epoch": 2}`)}}, path: "flax_model.msgpack", step: 1000},
		"an earlier run by its date":                     {files: []wrote{{"BPR-May-01-2024_12-00-00.pth", counted("epoch", numberIn(40))}, {"BPR-May-02-2024_09-00-00.pth", counted("epoch", numberIn(12))}}, path: "BPR-May-02-2024_09-00-00.pth", step: 12, unit: format.UnitEpoch},
		"slots of an optimizer":                          {files: []wrote{{"model_1000.pkl.gz", gzipped(string(pickled("step", numberIn(1000), "w", tensorIn)))}, {"model_1000.opt_slots0.npy.gz", gzipped(string(blob(100)))}, {"model.pkl.gz", gzipped(string(pickled("step", numberIn(1500), "w", tensorIn)))}, {"model.opt_slots0.npy.gz", gzipped(string(blob(100)))}}, path: "model.pkl.gz", step: 1500},
		"a checkpoint of another language in place":      {files: []wrote{{"m.dnn.1", blob(400)}, {"m.dnn", blob(400)}, {"m.dnn.ckp", blob(400)}}, path: "m.dnn.ckp", step: -1},
		"parts by their endings":                         {files: []wrote{{"epoch_1.pdparams", modelOnly()}, {"epoch_1.pdopt", adamOnly()}, {"epoch_1.pdstates", pickled("epoch", numberIn(1))}, {"epoch_2.pdparams", modelOnly()}, {"epoch_2.pdopt", adamOnly()}}, path: "epoch_1.pdparams", step: 1, unit: format.UnitEpoch},
		"a number with zeros behind the name of a model": {files: []wrote{{"resnet-0001.params", blob(400)}, {"resnet-0001.states", blob(400)}, {"resnet-0002.params", blob(400)}, {"resnet-0002.states", blob(400)}}, path: "resnet-0002.params", step: 2},
		"bytes under an ending that is Lightning's too":  {files: []wrote{{"net-1_100.ckpt", blob(400)}, {"net-2_100.ckpt", blob(400)}}, path: "net-2_100.ckpt", step: 2, unit: format.UnitEpoch},
		"moments under the name of an optimizer":         {files: []wrote{{"step_5/params.npz", arrays("w")}, {"step_5/adam.npz", arrays("m", "v")}}, path: "step_5", step: 5},
		"an ending of its own and a model's name":        {files: []wrote{{"model_10.ubj", blob(400)}, {"model_20.ubj", blob(400)}}, path: "model_20.ubj", step: 20},
		"a temporary name that is the only one":          {files: []wrote{{"model_tmp.pth", stateOf("step", 4)}}, path: "model_tmp.pth", step: 4},
		"two models by their optimizers":                 {files: []wrote{{"adam_5.pt", modelOnly()}, {"sgd_5.pt", modelOnly()}}},
		"a copy of the one before that is younger":       {files: []wrote{{"checkpoint.ckpt", counted("seen", numberIn(6))}, {"checkpoint_prev0.ckpt", counted("seen", numberIn(5))}, {"checkpoint_prev1.ckpt", counted("seen", numberIn(4))}}, path: "checkpoint.ckpt", step: -1},
		"the one before, where the last is cut":          {files: []wrote{{"checkpoint_prev0.ckpt", counted("seen", numberIn(5))}, {"checkpoint.ckpt", counted("seen", numberIn(6))[:50]}}, path: "checkpoint_prev0.ckpt", step: -1},
		"layers in files, by directories of their parts": {files: []wrote{{"step_5/params/dense_0.npz", arrays("w")}, {"step_5/params/dense_1.npz", arrays("w")}, {"step_5/opt_state/dense_0.npz", arrays("w")}, {"step_5/opt_state/dense_1.npz", arrays("w")}}, path: "step_5", step: 5},
		"compressed in a way that is not read":           {files: []wrote{{"ckpt_100.pt.zst", append([]byte("\x28\xb5\x2f\xfd"), blob(400)...)}, {"ckpt_200.pt.zst", append([]byte("\x28\xb5\x2f\xfd"), blob(400)...)}}, path: "ckpt_200.pt.zst", step: 200},
		"data that is compressed":                        {files: []wrote{{"train.jsonl.zst", append([]byte("\x28\xb5\x2f\xfd"), blob(400)...)}, {"corpus.bin.xz", append([]byte("\xfd7zXZ\x00"), blob(400)...)}}},
		"steps that begin anew in each epoch":            {files: []wrote{{"epoch_3.pt", counted("epoch", numberIn(3), "step", numberIn(20))}, {"epoch_4.pt", counted("epoch", numberIn(4), "step", numberIn(4))}, {"epoch_5.pt", counted("epoch", numberIn(5), "step", numberIn(9))}}, path: "epoch_5.pt", step: 5, unit: format.UnitEpoch},
		"the same, fewer than epochs":                    {files: []wrote{{"epoch_3.pt", counted("epoch", numberIn(3), "step", numberIn(20))}, {"epoch_4.pt", counted("epoch", numberIn(4), "step", numberIn(2))}}, path: "epoch_4.pt", step: 4, unit: format.UnitEpoch},
		"the same by their names":                        {files: []wrote{{"ckpt_ep3_it20.pt", counted()}, {"ckpt_ep4_it5.pt", counted()}}, path: "ckpt_ep4_it5.pt", step: 4, unit: format.UnitEpoch},
		"steps that go on in each epoch":                 {files: []wrote{{"ckpt_ep3_it20.pt", counted("epoch", numberIn(3), "step", numberIn(20))}, {"ckpt_ep4_it25.pt", counted("epoch", numberIn(4), "step", numberIn(25))}}, path: "ckpt_ep4_it25.pt", step: 25},
		"a patience in steps":                            {files: []wrote{{"BPR-May-02-2024_09-00-00.pth", counted("epoch", numberIn(12), "cur_step", numberIn(3))}}, path: "BPR-May-02-2024_09-00-00.pth", step: 12, unit: format.UnitEpoch},
		"batches of the first epoch":                     {files: []wrote{{"colbert-20.dnn", counted("epoch", numberIn(0), "batch", numberIn(20))}, {"colbert.dnn", counted("epoch", numberIn(0), "batch", numberIn(25))}}, path: "colbert.dnn", step: 25},
		"a count that the names know":                    {files: []wrote{{"iteration_10.pth.tar", counted("last_iter", numberIn(10), "last_step", numberIn(80))}, {"ckpt_best.pth.tar", counted("last_iter", numberIn(15), "last_step", numberIn(120))}, {"iteration_20.pth.tar", counted("last_iter", numberIn(20), "last_step", numberIn(160))}}, path: "iteration_20.pth.tar", step: 20},
		"one of each word of an ending":                  {files: []wrote{{"model", stateOf("number_training_updates", 900)}, {"model.checkpoint", stateOf("number_training_updates", 1000)}}, path: "model.checkpoint", step: 1000},
		"parts with an ending that is a word":            {files: []wrote{{"model.ckpt", modelOnly()}, {"optimizer.ckpt", adamOnly()}}, path: "model.ckpt", step: -1},
		"an optimizer under the same stem":               {files: []wrote{{"checkpoint_epoch_1.ckpt", modelOnly()}, {"checkpoint_epoch_2.ckpt", modelOnly()}, {"checkpoint.ckpt", modelOnly()}, {"checkpoint.optim", adamOnly()}}, path: "checkpoint.ckpt", step: -1},
		"plurals of parts":                               {files: []wrote{{"010_nets.ckpt", modelOnly()}, {"010_optims.ckpt", adamOnly()}, {"020_nets.ckpt", modelOnly()}}, path: "010_nets.ckpt", step: 10},
		"two numbers, of which the first is":             {files: []wrote{{"checkpoint_2_9999.tar", counted("epoch", numberIn(2))}, {"checkpoint_3_9999.tar", counted("epoch", numberIn(3))}, {"checkpoint_4_512_interrupted.tar", counted("epoch", numberIn(4))}}, path: "checkpoint_4_512_interrupted.tar", step: 4, unit: format.UnitEpoch},
		"two numbers, of which the second is":            {files: []wrote{{"checkpoint_2_1000.tar", counted()}, {"checkpoint_3_1500.tar", counted()}}, path: "checkpoint_3_1500.tar", step: 1500},
		"weights in the directory itself":                {files: []wrote{{"model.model", modelOnly()}, {"checkpoints/run_epoch-10.pt", counted()}}, path: "checkpoints/run_epoch-10.pt", step: 10, unit: format.UnitEpoch},
		"a state beside its weights": {files: []wrote{{"params.00001", modelOnly()}, {"params.00002", modelOnly()}, {"training_state/optimizer_last.pkl", adamOnly()}, {"training_state/params", modelOnly()},
			{"training_state/training.pkl", pickled("epoch", numberIn(3), "updates", numberIn(30))}}, path: "training_state", step: 30},
		"half a state beside its weights":    {files: []wrote{{"model.pt", modelOnly()}, {"run/optimizer.pt", adamOnly()}}, veto: true},
		"a snapshot of a form of its own":    {files: []wrote{{"experiment.cbsnapshot", blob(400)}, {"learn_error.tsv", []byte("iter\n")}}, path: "experiment.cbsnapshot", step: -1},
		"unnamed arrays in parts of a step":  {files: []wrote{{"step_10/shard_0/0.npz", arrays("arr_0", "arr_1")}, {"step_10/shard_0/1.npz", arrays("arr_0", "arr_1")}, {"step_10/shard_1/0.npz", arrays("arr_0", "arr_1")}, {"step_10/shard_1/1.npz", arrays("arr_0", "arr_1")}, {"step_20/shard_0/0.npz", arrays("arr_0", "arr_1")}, {"step_20/shard_0/1.npz", arrays("arr_0", "arr_1")}, {"step_20/shard_1/0.npz", arrays("arr_0", "arr_1")}}, path: "step_10", step: 10},
		"a stream of pairs":                  {files: []wrote{{"streaming_train_state_1000", stream(1000)}, {"streaming_train_state", stream(1500)}}, path: "streaming_train_state", step: 1500},
		"milestones, and the best in place":  {files: []wrote{{"checkpoint_1000.pt", counted()}, {"checkpoint_best.pt", counted("seen", numberIn(5))}}, path: "checkpoint_1000.pt", step: 1000},
		"a pipeline of weights in its parts": {files: []wrote{{"model-last/config.cfg", []byte("[nlp]\n")}, {"model-last/meta.json", []byte(`{"lang": "en"}`)}, {"model-last/tokenizer", blob(300)}, {"model-last/vocab/lookups.bin", []byte("\x80")}, {"model-last/ner/model", packed("nodes", "\x91\x80", "params", "\x91\x80")}}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), tt.judge)
	}
}

// judge writes the files, and wants what is resumed from to be the right one.
func (tt cause) judge(t *testing.T) {
	tr := newTree(t)
	for _, f := range tt.files {
		tr.put(f.path, f.data)
	}
	c, o := chosenIn(t, os.DirFS(tr.dir))
	if tt.torn != "" && !slices.ContainsFunc(o.Refused, func(c format.Checkpoint) bool { return c.Path == tt.torn && !c.Complete }) {
		t.Errorf("%s is whole: %+v", tt.torn, o.Refused)
	}
	got := fmt.Sprint(c)
	if c != nil {
		got = fmt.Sprintf("%s of %d %s", c.Path, c.Step, c.Unit)
	}
	switch {
	case (o.Veto != nil) != tt.veto:
		t.Errorf("veto %v; %s", o.Veto, got)
	case c == nil && tt.path == "":
	case c == nil || c.Path != tt.path || c.Step != tt.step || c.Unit != tt.unit:
		t.Errorf("%s; want %q of %d %s; %+v", got, tt.path, tt.step, tt.unit, o)
	}
}

// stream is MessagePack of one pair after another: the path of an array, and the array packed once more.
func stream(step int) []byte {
	pair := func(value string, keys ...string) string {
		b := "\x92" + string([]byte{0x90 | byte(len(keys))})
		for _, k := range keys {
			b += string([]byte{0xa0 | byte(len(k))}) + k
		}
		return b + "\xc4" + string([]byte{byte(len(value))}) + value
	}
	return []byte(pair(packedNumber(step), "step") + pair(packedArray, "params", "w") + pair(packedArray, "opt_state", "0", "mu") + pair(packedArray, "opt_state", "0", "nu"))
}

// gzipped is a text that gzip has compressed.
func gzipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.Bytes()
}

// TestFreshVolume: what a file system makes for itself is nothing that is not understood.
func TestFreshVolume(t *testing.T) {
	tr := newTree(t)
	tr.put("lost+found/.keep", nil)
	tr.put(".gitkeep", nil)
	s, err := (&Scanner{FS: os.DirFS(tr.dir)}).Scan(t.Context())
	if err != nil || len(s.Checkpoints)+len(s.Others) > 0 {
		t.Errorf("%v, %v, %v", s.Checkpoints, s.Others, err)
	}
}

// TestStrangers: bytes under an ending of somebody's own that begin like a pickle by chance are no checkpoint that was cut.
func TestStrangers(t *testing.T) {
	tr := newTree(t)
	for _, name := range []string{"step_1/x/s_0.dat", "step_2/x/s_0.dat", "noise.dat"} {
		tr.put(name, append([]byte("\x80\x02"), blob(400)...))
	}
	s, err := (&Scanner{FS: os.DirFS(tr.dir)}).Scan(t.Context())
	if err != nil || len(s.Checkpoints) > 0 {
		t.Errorf("%s, %v", paths(s.Checkpoints), err)
	}
}
