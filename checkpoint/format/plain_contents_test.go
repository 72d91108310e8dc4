package format

import (
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// TestWhatIsNoTrainingState has files under the name of a checkpoint with all that may be in one. What is known to be no
// training state is none, whatever its name. What is not understood is taken for one by its name, and that is said.
func TestWhatIsNoTrainingState(t *testing.T) {
	const (
		weights = problem.WeightsOnly
		tensor  = "cnumpy.core.multiarray\n_reconstruct\n)R"
		float   = "G\x3f\xe0\x00\x00\x00\x00\x00\x00"
		unknown = "cmine\nState\n)\x81"
	)
	text := func(s string) string { return "X" + string([]byte{byte(len(s)), 0, 0, 0}) + s }
	dict := func(pairs ...string) string {
		for i := 0; i < len(pairs); i += 2 {
			pairs[i] = text(pairs[i])
		}
		return "}(" + strings.Join(pairs, "") + "u"
	}
	list := func(items ...string) string { return "](" + strings.Join(items, "") + "e" }
	tuple := func(items ...string) string { return "(" + strings.Join(items, "") + "t" }
	named := func(class string, fields ...string) string { return "c" + class + "\n" + tuple(fields...) + "\x81" }
	optimizer := dict("state", "}", "param_groups", list(dict("lr", float)))
	sample := dict("x", tensor, "y", "K\x01")
	line := func(epoch string) string { return dict("epoch", epoch, "loss", float) }
	for name, tt := range map[string]struct {
		holds  string
		reason problem.Reason // empty: a training state
		says   string         // of one that is not
		doubt  bool
	}{
		"an export of a state":         {dict("epoch", "J\xff\xff\xff\xff", "optimizer", "N", "model", unknown), weights, "weights", false},
		"an export with its options":   {dict("epoch", "J\xff\xff\xff\xff", "optimizer", "N", "model", unknown, "opt", dict("epochs", "K\x05")), weights, "weights", false},
		"a state before its first":     {dict("epoch", "J\xff\xff\xff\xff", "optimizer", optimizer, "model", unknown), "", "", false},
		"a state without an optimizer": {dict("epoch", "K\x03", "optimizer", "N", "model", unknown), "", "", false},
		"a number":                     {"K\x05", weights, "data", false},
		"a word":                       {text("done"), weights, "data", false},
		"nothing":                      {"N", weights, "data", false},
		"a list of floats":             {list(float, float), weights, "data", false},
		"a list of numbers":            {list("K\x01", "K\x02"), weights, "data", false},
		"an empty list":                {"]", weights, "data", false},
		"an empty dict":                {"}", weights, "data", false},
		"a list of texts":              {list(text("a"), text("b")), weights, "data", false},
		"a dict of lists":              {dict("loss", list(float), "accuracy", list(float)), "", "", true},
		"a line for each epoch":        {list(line("K\x01"), line("K\x02"), line("K\x03")), "", "", true},
		"pairs":                        {list(tuple("K\x01", "K\x02"), tuple("K\x01", "K\x02"), tuple("K\x01", "K\x02")), "", "", true},
		"a tensor":                     {tensor, weights, "weights", false},
		"a list of tensors":            {list(tensor, tensor), weights, "weights", false},
		"a dict of tensors":            {dict("w", tensor, "b", tensor), weights, "weights", false},
		"samples":                      {list(sample, sample, sample), "", "", true},
		"samples that are pairs":       {list(tuple(tensor, "K\x01"), tuple(tensor, "K\x02"), tuple(tensor, "K\x03")), "", "", true},
		"a generation of one number":   {list(line("K\x07"), line("K\x07"), line("K\x07")), "", "", false},
		"counters in a tuple":          {tuple(dict("w", tensor), tuple("K\x05", float)), "", "", true},
		"counters in a list":           {list(dict("w", tensor), list("K\x05", "K\x64")), "", "", true},
		"a population":                 {list(list("K\x01", "K\x00"), list("K\x00", "K\x00")), "", "", true},
		"a table of values":            {dict("0,1", list(float, float)), "", "", true},
		"the fields of a layer":        {named("nets\nParams", tensor, tensor), weights, "weights", false},
		"layers of fields":             {list(named("nets\nParams", tensor, tensor), named("nets\nParams", tensor, tensor)), weights, "weights", false},
		"a layer and a counter":        {named("nets\nState", tensor, "K\x05"), "", "", true},
		"a dict of another class":      {"cflax.core.frozen_dict\nFrozenDict\n" + tuple(dict("w", tensor)) + "R", weights, "weights", false},
		"the same with a step":         {"cflax.core.frozen_dict\nFrozenDict\n" + tuple(dict("w", tensor, "step", "K\x05")) + "R", "", "", false},
		"bytes beside weights":         {dict("model", dict("w", tensor), "plot", "C\x03abc"), weights, "weights", false},
		"a dict in each layer":         {list(dict("w", tensor), dict("w", tensor), dict("w", tensor)), weights, "weights", false},
		"the optimizer in a list":      {list(dict("w", tensor), optimizer), "", "", false},
		"an epoch before it":           {tuple("K\x05", dict("w", tensor), optimizer), "", "", false},
		"a list of whole states":       {list(dict("w", tensor, "epoch", "K\x05"), dict("w", tensor, "epoch", "K\x05"), dict("w", tensor, "epoch", "K\x05")), "", "", false},
		"optimizers in a list":         {dict("nets", list(dict("w", tensor)), "solvers", list(optimizer)), "", "", false},
		"a step and no more":           {dict("step", "K\x05"), "", "", false},
		"generators":                   {dict("population", list("K\x01"), "rndstate", tuple("K\x03", float)), "", "", false},
		"a generation":                 {dict("population", list("K\x01"), "generation", "K\x03"), "", "", false},
		"a named tuple of optax's":     {tuple(dict("w", tensor), named("optax._src.transform\nScaleByAdamState", tensor, tensor, tensor)), "", "", false},
		"one of the script's own":      {named("train\nTrainState", dict("w", tensor), dict("w", tensor)), "", "", true},
		"such a one in a dict":         {dict("state", named("train\nTrainState", dict("w", tensor), dict("w", tensor))), "", "", true},
		"tensors and a number":         {tuple(dict("w", tensor), "K\x05"), "", "", true},
		"a number and floats":          {tuple("K\x05", list(float, float)), "", "", true},
		"objects made from each other": {entangled(9), "", "", true},
		"a counter of its own":         {dict("w", tensor, "done", "K\x05"), "", "", true},
		"a number below 0":             {dict("w", tensor, "done", "J\xff\xff\xff\xff"), "", "", true},
		"an object of its own":         {unknown, "", "", true},
		"an object of its own in data": {list(text("a"), unknown), "", "", true},
		"bytes":                        {"C\x03abc", "", "", true},
		"bytes in a dict":              {dict("state", "C\x03abc"), "", "", true},
		"a table with other keys":      {dict("values", "}(K\x01G\x3f\xe0\x00\x00\x00\x00\x00\x00u"), "", "", true},
	} {
		d := newDisk(t)
		d.play(write("ckpt_1.pt", []byte("\x80\x02"+tt.holds+".")))
		c := one(t, see(t, d.fs(), Options{Level: Manifests}), "ckpt_1.pt")
		if !c.Complete || c.Reason != tt.reason || !strings.HasSuffix(c.Detail, tt.says) || (c.Doubt != "") != tt.doubt || c.Unsure != tt.doubt {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// entangled is an object made from fifty times the one before it, and so on.
func entangled(levels int) string {
	made := "cmine\nState\n)\x81q\x00"
	for level := range levels {
		made += "0cmine\nState\n(" + strings.Repeat("h"+string([]byte{byte(level)}), 50) + "t\x81q" + string([]byte{byte(level + 1)})
	}
	return made
}

// TestNumberInAFileOfItsOwn: of a save of several files one may say how far it is, without a name for it.
func TestNumberInAFileOfItsOwn(t *testing.T) {
	d := newDisk(t)
	d.play(write("step_3/model.pt", anyTorch()), write("step_3/epoch.pt", []byte("\x80\x02K\x03.")))
	if c := one(t, see(t, d.fs(), Options{Level: Manifests}), "step_3"); !c.Resumable || !c.Unsure {
		t.Errorf("%+v", c)
	}
}

// TestSavesOfSeveralFiles has what stands beside the weights of a save, and what is there of a first one.
func TestSavesOfSeveralFiles(t *testing.T) {
	const (
		float   = "G\x3f\xe0\x00\x00\x00\x00\x00\x00"
		history = "}(X\x04\x00\x00\x00loss](" + float + "eu"
		table   = "}(X\x04\x00\x00\x00loss](" + float + "eX\x06\x00\x00\x00reportcmine\nReport\n)\x81u"
		blocks  = "cpandas\n_blocks\n(cnumpy.core.multiarray\n_reconstruct\n)RK\x05tR"
		nothing = ""
	)
	for name, tt := range map[string]struct {
		files map[string]string // empty: weights
		path  string
		want  string // state, part, data or none
	}{
		"counters in a tuple beside the model":  {map[string]string{"step_5/model.pt": nothing, "step_5/progress.pkl": "(K\x05" + float + "t"}, "step_5", "state"},
		"counters in a list beside the model":   {map[string]string{"step_5/model.pt": nothing, "step_5/extra.pkl": "](K\x05K\x64e"}, "step_5", "state"},
		"counters beside model_5":               {map[string]string{"model_5.pt": nothing, "meta_5.pt": "(K\x05" + float + "t"}, "model_5.pt", "state"},
		"an epoch beside model_5":               {map[string]string{"model_5.pt": nothing, "epoch_5.pt": "K\x05"}, "epoch_5.pt", "state"},
		"two models and no more":                {map[string]string{"step_5/actor.pt": nothing, "step_5/critic.pt": nothing}, "step_5", "part"},
		"a first save, cut after its scaler":    {map[string]string{"scaler_5.pt": "}"}, "scaler_5.pt", "part"},
		"a first save, cut after its settings":  {map[string]string{"step_5/meta.pkl": "}(X\x01\x00\x00\x00aX\x01\x00\x00\x00bu"}, "step_5", "part"},
		"a first save, cut after its epoch":     {map[string]string{"step_5/epoch.pkl": "K\x05"}, "step_5", "data"},
		"losses of an epoch":                    {map[string]string{"losses_epoch_1.pkl": "](" + float + float + "e"}, "losses_epoch_1.pkl", "data"},
		"a history":                             {map[string]string{"hist_epoch_1.pkl": history}, "hist_epoch_1.pkl", "data"},
		"a history with what is not understood": {map[string]string{"hist_epoch_1.pkl": table}, "hist_epoch_1.pkl", "none"},
		"a table":                               {map[string]string{"log.pkl": blocks}, "log.pkl", "absent"},
		"a population in place":                 {map[string]string{"latest.pkl": "](](K\x01K\x00e](K\x00K\x01ee"}, "latest.pkl", "state"},
	} {
		d := newDisk(t)
		for path, data := range tt.files {
			if data == nothing {
				d.play(write(path, anyTorch()))
			} else {
				d.play(write(path, []byte("\x80\x02"+data+".")))
			}
		}
		got := "absent"
		for _, c := range see(t, d.fs(), Options{Level: Manifests}) {
			switch {
			case c.Path != tt.path:
			case c.Resumable:
				got = "state"
			case c.Part:
				got = "part"
			case c.Data:
				got = "data"
			default:
				got = "none"
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestStepOfTheOptimizer has both counts of a loop that accumulates gradients, as litgpt keeps them: the step is that of the
// optimizer, and an iteration is one of several of it.
func TestStepOfTheOptimizer(t *testing.T) {
	for key, step := range map[string]int64{"step_count": 20, "optimizer_step": 20, "num_updates": 20, "epoch": 80} {
		name := "X" + string([]byte{byte(len(key)), 0, 0, 0}) + key
		for _, dir := range []string{"step-00000020", "last"} { // also where no name agrees with one of them
			d := newDisk(t)
			d.play(write(dir+"/lit_model.pth", []byte("\x80\x02}(X\x08\x00\x00\x00iter_numKP"+name+"K\x14u.")))
			if c := one(t, see(t, d.fs(), Options{Level: Manifests}), dir); c.Step != step || c.Unit != UnitStep {
				t.Errorf("%s: iter_num 80 and %s 20: %d %s, not %d", dir, key, c.Step, c.Unit, step)
			}
		}
	}
}
