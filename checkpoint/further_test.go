package checkpoint

import (
	"maps"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestFurther has a directory that is too high, and in which lies what says nothing of where the training is.
func TestFurther(t *testing.T) {
	state := []byte("\x80\x02}(X\x04\x00\x00\x00stepK\x07X\x05\x00\x00\x00optim}(X\x05\x00\x00\x00state}X\x0c\x00\x00\x00param_groups]}auu.")
	trainer := []byte("\x80\x02cmine\nTrainer\n)\x81.")
	stepped := pickled("model", "}("+keyIn("w")+tensorIn+"u", "step", numberIn(12))
	for name, tt := range map[string]struct {
		files map[string][]byte
		step  int64 // -1: there is nothing to resume from
		veto  bool
	}{
		"a final model beside a run":           {map[string][]byte{"final/model.safetensors": weights(), "run/step_7.pt": state}, 7, false},
		"models of epochs, one state beside":   {map[string][]byte{"epoch_0/model.safetensors": weights(), "epoch_1/model.safetensors": weights(), "recipe_state/recipe_state.pt": state}, 7, false},
		"a description of the trainer":         {map[string][]byte{"trainer.pkl": trainer, "trial_1/step_7.pt": state}, 7, false},
		"the same two levels up":               {map[string][]byte{"trainer.pkl": trainer, "trials/trial_1/step_7.pt": state}, 7, false},
		"models alone":                         {map[string][]byte{"final/model.safetensors": weights(), "other/model.safetensors": weights()}, -1, false},
		"weights in the directory itself":      {map[string][]byte{"model.safetensors": weights(), "run/step_7.pt": state}, 7, false},
		"weights of steps, and a state later":  {map[string][]byte{"params.00002": modelOnly(), "training_state/step_7.pkl": state}, 7, false},
		"weights later than a state below":     {map[string][]byte{"a/step_7.pt": state, "net_1.pt": modelOnly(), "net_2.pt": modelOnly()}, -1, true},
		"what it was begun from":               {map[string][]byte{"pretrained/model.pt": modelOnly(), "epoch_1/step_7.pt": state}, 7, false},
		"a state that it was begun from":       {map[string][]byte{"pretrained/model.pt": state, "runs/one/step_7.pt": state}, 7, false},
		"a state that was cut":                 {map[string][]byte{"step_9.pt": state[:20], "old/step_7.pt": state}, -1, true},
		"a base model one level up":            {map[string][]byte{"base/model.safetensors": weights(), "runs/one/step_7.pt": state}, 7, false},
		"weights in a file one level up":       {map[string][]byte{"weights/resnet.pth": modelOnly(), "runs/one/step_7.pt": state}, 7, false},
		"two runs that nothing tells apart":    {map[string][]byte{"final/model.safetensors": weights(), "one/step_7.pt": state, "two/step_7.pt": state}, -1, true},
		"a model that tells its step":          {map[string][]byte{"best/best.pt": stepped, "run/step_7.pt": state}, -1, true},
		"a model that tells its step, below":   {map[string][]byte{"final/model.safetensors": weights(), "run/best/best.pt": stepped}, 12, false},
		"a model that tells its step, alone":   {map[string][]byte{"best/best.pt": stepped}, 12, false},
		"a state in the directory goes before": {map[string][]byte{"step_7.pt": state, "old/step_9.pt": state, "final/model.safetensors": weights()}, 7, false},
		"a pickle of the program's own, alone": {map[string][]byte{"checkpoint.pkl": trainer}, -1, false},
	} {
		tr := newTree(t)
		for _, path := range slices.Sorted(maps.Keys(tt.files)) { // in this order
			tr.put(path, tt.files[path])
		}
		s, err := (&Scanner{FS: os.DirFS(tr.dir)}).Scan(t.Context())
		if err != nil {
			t.Fatal(name, err)
		}
		o, err := Policy{}.Offer(s, History{}, Run{}, time.Now())
		if err != nil {
			t.Fatal(name, err)
		}
		step := int64(-1)
		if len(o.Steps) > 0 {
			step = o.Steps[0]
		}
		if step != tt.step || (o.Veto != nil) != tt.veto {
			t.Errorf("%s: steps %v, identities %v, veto %v in %s", name, o.Steps, o.Identities, o.Veto, paths(s.Checkpoints))
		}
	}
}

// TestFurtherUnread has whole states further down that cannot be read: that is unknown, and never a fresh start.
func TestFurtherUnread(t *testing.T) {
	state := []byte("\x80\x02}(X\x04\x00\x00\x00stepK\x07X\x05\x00\x00\x00optim}(X\x05\x00\x00\x00state}X\x0c\x00\x00\x00param_groups]}auu.")
	for _, unread := range []string{"run", "run/step_7.pt"} {
		tr := newTree(t)
		tr.put("final/model.safetensors", weights())
		tr.put("run/step_7.pt", state)
		w := watch(os.DirFS(tr.dir))
		w.fails[unread] = syscall.EIO
		s, err := (&Scanner{FS: w}).Scan(t.Context())
		var o Offer
		if err == nil {
			o, err = Policy{}.Offer(s, History{}, Run{}, time.Now())
		}
		if err == nil || !Unknown(err) {
			t.Errorf("%s cannot be read: %+v, %v in %s; want unknown", unread, o, err, paths(s.Checkpoints))
		}
	}
}
