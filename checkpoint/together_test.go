package checkpoint

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
)

// TestSameMoment: of a state that says no step, what was saved in the same moment tells it.
func TestSameMoment(t *testing.T) {
	options := strings.TrimSuffix(strings.TrimPrefix(string(namespaceOf("lr", numberIn(1))), "\x80\x02"), ".")
	info := func(n int) []byte {
		return pickled("iter", numberIn(n), "opt", options, "vocab", "}("+keyIn("1")+keyIn("a")+"u")
	}
	save := func(slot string, n int) []wrote {
		return []wrote{{"model" + slot + ".pth", modelOnly()}, {"optimizer" + slot + ".pth", append([]byte{}, adamOnly()...)}, {"infos_fc" + slot + ".pkl", info(n)}}
	}
	for name, tt := range map[string]struct {
		at   map[string]int // seconds after the first
		step int64
	}{
		"together":                  {map[string]int{"model-best.pth": 0, "optimizer-best.pth": 0, "infos_fc-best.pkl": 0, "model.pth": 100, "optimizer.pth": 101, "infos_fc.pkl": 102}, 9000},
		"what tells is of another":  {map[string]int{"model-best.pth": 0, "optimizer-best.pth": 0, "infos_fc-best.pkl": 0, "model.pth": 200, "optimizer.pth": 201, "infos_fc.pkl": 102}, -1},
		"what tells is of the best": {map[string]int{"model-best.pth": 100, "optimizer-best.pth": 100, "infos_fc-best.pkl": 101, "model.pth": 100, "optimizer.pth": 101, "infos_fc.pkl": 50}, -1},
	} {
		tr := newTree(t)
		for _, f := range append(save("-best", 6000), save("", 9000)...) {
			tr.put(f.path, f.data)
			at := time.Now().Add(time.Duration(tt.at[f.path]-1000) * time.Second)
			if err := os.Chtimes(tr.dir+"/"+f.path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		c, o := chosenIn(t, os.DirFS(tr.dir))
		if c == nil || c.Path != "model.pth" || c.Step != tt.step {
			t.Errorf("%s: %+v; want model.pth of %d; %+v", name, c, tt.step, o)
		}
		if tt.step >= 0 && len(o.Warnings) > 0 {
			t.Errorf("%s: %s", name, o.Warnings)
		}
	}
}

// TestTogether: what lies in one directory and was written within one save belongs together, whatever it is called; what was
// written at another time does not.
func TestTogether(t *testing.T) {
	apart := func(files ...wrote) []wrote { return files }
	model, adam := wrote{"model.pth", modelOnly()}, wrote{"optimizer.pth", adamOnly()}
	json := func(name, text string) wrote { return wrote{name, []byte(text)} }
	for name, tt := range map[string]struct {
		old, now []wrote // an hour ago, and within a second
		path     string
		step     int64
		unit     format.Unit
		veto     bool
	}{
		"pickles for arrays": {now: apart(wrote{"w.npy", modelOnly()}, wrote{"w_opt.npy", adamOnly()}, wrote{"w_data.dat", pickled("iter", numberIn(40))}), path: "w_opt.npy", step: 40},
		"a copy below of what is further": {old: apart(wrote{"autobackups/01/w.npy", modelOnly()}, wrote{"autobackups/01/data.dat", pickled("iter", numberIn(30), "optimizer", optimizerIn)}),
			now: apart(wrote{"a.npy", modelOnly()}, wrote{"b.npy", modelOnly()}, wrote{"data.dat", pickled("iter", numberIn(40))}), path: "data.dat", step: 40},
		"statistics":                      {now: apart(model, adam, json("stats.json", `{"step": 340, "loss": 0.5}`)), path: "model.pth", step: 340},
		"statistics of an hour ago":       {old: apart(json("stats.json", `{"step": 340}`)), now: apart(model, adam), path: "model.pth", step: -1},
		"a configuration that says it":    {now: apart(model, adam, json("config.json", `{"dim": 64, "epochs": 90, "epoch": 3}`)), path: "model.pth", step: 3, unit: format.UnitEpoch},
		"a configuration that does not":   {now: apart(model, adam, json("config.json", `{"epochs": 90, "train_steps": 5000, "num_steps": 5000}`)), path: "model.pth", step: -1},
		"a Trainer's state, in place":     {now: apart(wrote{"pytorch_model.bin", modelOnly()}, wrote{"optimizer.pt", adamOnly()}, json("trainer_state.json", `{"global_step": 340, "epoch": 1.5}`)), path: "pytorch_model.bin", step: 340},
		"two that do not agree":           {now: apart(model, adam, json("a.json", `{"step": 1}`), json("b.json", `{"step": 2}`)), path: "model.pth", step: -1},
		"one that was cut":                {now: apart(model, adam, json("stats.json", `{"step": 34`)), path: "model.pth", step: -1},
		"lines":                           {now: apart(model, adam, json("run.yaml", "step: 340\nloss: 0.5\n")), path: "model.pth", step: 340},
		"the last, not the best":          {old: apart(wrote{"best.pth", counted()}), now: apart(wrote{"last.pth", counted()}, json("stats.json", `{"epoch": 7}`)), path: "last.pth", step: 7, unit: format.UnitEpoch},
		"weights alone":                   {now: apart(model, json("stats.json", `{"step": 340}`))},
		"a pickle":                        {now: apart(wrote{"model_state_dict.pt", modelOnly()}, wrote{"optimizer.pt", adamOnly()}, wrote{"manifest.pt", pickled("epoch", numberIn(45), "model", keyIn("model_state_dict.pt"))}), path: "model_state_dict.pt", step: 45, unit: format.UnitEpoch},
		"a pickle of an hour ago":         {old: apart(wrote{"manifest.pt", pickled("epoch", numberIn(45))}), now: apart(wrote{"model_state_dict.pt", modelOnly()}, wrote{"optimizer.pt", adamOnly()}), path: "model_state_dict.pt", step: -1},
		"a number that is of a part":      {now: apart(wrote{"optimizer_0.pt", adamOnly()}, wrote{"state.pt", pickled("global_step", numberIn(3000))}), path: "optimizer_0.pt", step: 3000},
		"the same, with a scheduler":      {now: apart(wrote{"pytorch_model.bin", modelOnly()}, wrote{"optimizer.pt", adamOnly()}, wrote{"scheduler.pt", pickled("last_epoch", numberIn(4), "_step_count", numberIn(5))}, json("trainer_state.json", `{"global_step": 340}`)), path: "pytorch_model.bin", step: 340},
		"slots of an optimizer":           {now: apart(wrote{"model.weights.npy.gz", gzipped(string(npy()))}, wrote{"model.opt_slots0.npy.gz", gzipped(string(npy()) + string(npy()))}, wrote{"model.pkl.gz", gzipped(string(pickled("step", numberIn(1500), "w", tensorIn)))}), path: "model.pkl.gz", step: 1500},
		"a run of a random name":          {now: apart(wrote{"runs/3f2a9c1e-4b6d-4a70-90ab-12cd34ef5678/ckpt/model.pt", modelOnly()}, wrote{"runs/3f2a9c1e-4b6d-4a70-90ab-12cd34ef5678/ckpt/optimizer.pt", adamOnly()}, json("runs/3f2a9c1e-4b6d-4a70-90ab-12cd34ef5678/ckpt/epoch.txt", "7")), path: "runs/3f2a9c1e-4b6d-4a70-90ab-12cd34ef5678/ckpt", step: 7, unit: format.UnitEpoch},
		"an optimizer beside safetensors": {now: apart(wrote{"model-00001-of-00001.safetensors", weights()}, json("model.safetensors.index.json", `{"weight_map": {"w": "model-00001-of-00001.safetensors"}}`), wrote{"optimizer.pt", adamOnly()}, json("state.json", `{"step": 20}`)), path: "model.safetensors.index.json", step: 20},
		"an optimizer alone":              {now: apart(wrote{"optimizer.pt", adamOnly()}), veto: true},
		"and its scheduler":               {now: apart(wrote{"optimizer.pt", adamOnly()}, wrote{"scheduler.pt", pickled("last_epoch", numberIn(4), "_step_count", numberIn(5))}), veto: true},
		"an optimizer alone of a step":    {now: apart(wrote{"step_100/optimizer.pt", adamOnly()})},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			tr := newTree(t)
			for ago, files := range map[time.Duration][]wrote{time.Hour: tt.old, time.Minute: tt.now} {
				for i, f := range files {
					tr.put(f.path, f.data)
					at := time.Now().Add(time.Duration(i)*200*time.Millisecond - ago)
					if err := os.Chtimes(tr.dir+"/"+f.path, at, at); err != nil {
						t.Fatal(err)
					}
				}
			}
			c, o := chosenIn(t, os.DirFS(tr.dir))
			switch {
			case (o.Veto != nil) != tt.veto:
				t.Errorf("veto %v; %+v", o.Veto, c)
			case c == nil && tt.path == "":
			case c == nil || c.Path != tt.path || c.Step != tt.step || c.Unit != tt.unit:
				t.Errorf("%+v; want %q of %d %s; %+v", c, tt.path, tt.step, tt.unit, o)
			}
		})
	}
}
