package checkpoint

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
)

// lightningOf is a state of Lightning's.
func lightningOf(step int) []byte {
	return filetest.Zip(filetest.Record{Name: "archive/data.pkl", Data: pickled("pytorch-lightning_version", keyIn("2.4.0"), "global_step", numberIn(step),
		"state_dict", "}("+keyIn("w")+tensorIn+"u", "optimizer_states", "]"+optimizerIn+"a")})
}

// TestCausesOfParts has directories in which a state is in several files or directories whose names say of which part of what they are.
func TestCausesOfParts(t *testing.T) {
	two := func(step string, cut bool) (files []wrote) {
		for _, part := range []string{"G_A", "G_B", "D_A", "D_B"} {
			files = append(files, wrote{part + "_" + step + ".pth", modelOnly()})
		}
		last := adamOnly()
		if cut {
			last = last[:9]
		}
		return append(files, wrote{"optimizer_G_" + step + ".pth", adamOnly()}, wrote{"optimizer_D_B_" + step + ".pth", last})
	}
	torch := filetest.Torch(make([]byte, 64))
	apart := func(step string, critic []byte) (files []wrote) {
		for part, optimizer := range map[string][]byte{"_actor": torch, "_critic": critic} {
			dir := part + "/global_step" + step
			files = append(files, wrote{dir + "/mp_rank_00_model_states.pt", torch}, wrote{dir + "/zero_pp_rank_0_mp_rank_00_optim_states.pt", optimizer})
		}
		return files
	}
	boosterPickle := []byte("\x80\x02cxgboost.core\nBooster\n)\x81}" + keyIn("handle") + "cbuiltins\nbytearray\n" + keyIn("trees") + "\x85Rsb.")
	engine := func(dir, step string, extra ...wrote) []wrote {
		return append(extra, wrote{dir + step + "/model.safetensors", weights()}, wrote{dir + step + "/latest", []byte("global_step" + step)}, wrote{dir + step + "/global_step" + step + "/mp_rank_00_model_states.pt", torch})
	}
	ranks := func(dir string, n int) (files []wrote) {
		for r := range n {
			files = append(files, wrote{fmt.Sprintf("%s/zero_pp_rank_%d_mp_rank_00_optim_states.pt", dir, r), torch})
		}
		return files
	}
	for name, tt := range map[string]cause{
		"an engine's in the directory of the step":        {files: append(engine("ckpt-", "50", ranks("ckpt-50/global_step50", 2)...), engine("ckpt-", "100", ranks("ckpt-100/global_step100", 2)...)...), path: "ckpt-100", step: 100},
		"the same, without a rank":                        {files: append(engine("ckpt-", "50", ranks("ckpt-50/global_step50", 2)...), engine("ckpt-", "100", ranks("ckpt-100/global_step100", 2)[1:]...)...), path: "ckpt-50", step: 50, torn: "ckpt-100"},
		"two generators, and an optimizer of one cut":     {files: append(append(two("5", false), two("10", false)...), two("15", true)...), path: "G_A_10.pth", step: 10},
		"a teacher and its student":                       {files: []wrote{{"teacher_3.pt", modelOnly()}, {"student_3.pt", modelOnly()}, {"optimizer_3.pt", adamOnly()}}, path: "student_3.pt", step: 3},
		"a directory of a teacher":                        {files: []wrote{{"teacher/epoch_90.pt", stateOf("epoch", 90)}, {"student/epoch_3.pt", stateOf("epoch", 3)}}, veto: true},
		"a copy for evaluations":                          {files: []wrote{{"train/ckpt_10.pt", counted()}, {"eval/bestmodel-5", counted()}, {"train/ckpt_20.pt", counted()}}, path: "train/ckpt_20.pt", step: 20},
		"evaluations alone":                               {files: []wrote{{"eval/bestmodel-5", counted()}}, path: "eval/bestmodel-5", step: 5},
		"arrays of a momentum":                            {files: []wrote{{"0000000100.npz", arrays("(Net).w", "(Momentum).m")}, {"0000000200.npz", arrays("(Net).w", "(Momentum).m")}}, path: "0000000200.npz", step: 200},
		"a directory for each rank, one without the last": {files: []wrote{{"rank0/step_3.pt", stateOf("step", 3)}, {"rank1/step_3.pt", stateOf("step", 3)}, {"rank0/step_4.pt", stateOf("step", 4)}}, path: "rank1/step_3.pt", step: 3},
		"the best ones by their scores":                   {files: []wrote{{"exp/best_models/ckpt_best_0.85.pth", stateOf("epoch", 3)}, {"exp/best_models/ckpt_best_0.89.pth", stateOf("epoch", 7)}}, path: "exp/best_models/ckpt_best_0.89.pth", step: 7, unit: "epoch"},
		"a pickled booster":                               {files: []wrote{{"xgb_model_10.pkl", boosterPickle}, {"xgb_model_20.pkl", boosterPickle}}, path: "xgb_model_20.pkl", step: 20},
		"one that is there to be used":                    {files: []wrote{{"xgb_model.pkl", boosterPickle}}},
		"measures behind letters":                         {files: []wrote{{"epoch2_e20_f60_s30_mNA.pth.tar", counted()}}, path: "epoch2_e20_f60_s30_mNA.pth.tar", step: 2, unit: "epoch"},
		"weights of steps, and the optimizers of the ranks in place": {files: []wrote{{"lm-10.pt", modelOnly()}, {"lm-20.pt", modelOnly()}, {"lm.rank-0.opt", adamOnly()}, {"lm.rank-1.opt", adamOnly()}},
			path: "lm-20.pt", step: 20},
		"a model whose last layer is fitted":           {files: []wrote{{"step_10/model.safetensors", filetest.Safetensors(8)}, {"step_10/head.pkl", []byte("\x80\x02" + estimator() + ".")}}},
		"a fitted learner under the name of a trainer": {files: []wrote{{"trainer.pkl", []byte("\x80\x02cautogluon.core.trainer\nAutoTrainer\n)\x81}" + keyIn("models") + "}sb.")}}},
		"milestones below one that is cut":             {files: []wrote{{"models/00000010.tar", counted()}, {"model.tar", counted()[:60]}}, path: "models/00000010.tar", step: 10},
		"the same of another name":                     {files: []wrote{{"models/big_00000010.tar", counted()}, {"model.tar", counted()[:60]}}, veto: true},
		"steps of Lightning's below its epochs":        {files: []wrote{{"checkpoints/epoch=1-step=8.ckpt", lightningOf(8)}, {"checkpoints/trainstep_checkpoints/epoch=2-step=12.ckpt", lightningOf(12)}}, path: "checkpoints/trainstep_checkpoints/epoch=2-step=12.ckpt", step: 12},
		"the same, further than those of steps":        {files: []wrote{{"checkpoints/trainstep_checkpoints/epoch=2-step=12.ckpt", lightningOf(12)}, {"checkpoints/epoch=3-step=16.ckpt", lightningOf(16)}}, path: "checkpoints/epoch=3-step=16.ckpt", step: 16},
		"an actor and a critic in directories":         {files: append(apart("10", torch), apart("20", torch)...), path: "_actor/global_step20", step: 20},
		"the same, and the critic cut":                 {files: append(apart("10", torch), apart("20", torch[:99])...), veto: true},
		"snapshots of a booster":                       {files: []wrote{{"model.txt.snapshot_iter_10", boosterText(10)}, {"model.txt.snapshot_iter_20", boosterText(20)}}, path: "model.txt.snapshot_iter_20", step: 20},
		"a booster in place":                           {files: []wrote{{"checkpoint.json", boosterJSON(10)}}, path: "checkpoint.json", step: -1},
		"a booster that is there to be used":           {files: []wrote{{"model.json", boosterJSON(10)}}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), tt.judge)
	}
}

// TestMarkOfAnother: an empty file that says that another was taken away is no save that was cut.
func TestMarkOfAnother(t *testing.T) {
	tr := newTree(t)
	for _, name := range []string{"ckpt_10.pt", "ckpt_20.pt", "lm-checkpoint.7"} {
		tr.put(name, counted())
		tr.put(name+".uploaded", nil)
	}
	s, err := (&Scanner{FS: os.DirFS(tr.dir)}).Scan(t.Context())
	if err != nil || len(s.Checkpoints) != 3 {
		t.Errorf("%+v, %v", s.Checkpoints, err)
	}
}
