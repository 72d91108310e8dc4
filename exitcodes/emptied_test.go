package exitcodes

import "testing"

// TestEmptyPickle has a pickle be empty: that stays so, but a checkpoint of the run may have others before it.
func TestEmptyPickle(t *testing.T) {
	const head = "Traceback (most recent call last):\n  File \"/app/train.py\", line 77, in <module>\n    main()\n"
	const end = "    return pickle.load(f)\nEOFError: Ran out of input\n"
	for name, tt := range map[string]struct {
		frames string
		want   Verdict
	}{
		"of a data set":                  {"  File \"/app/datasets/nuscenes.py\", line 79, in load_infos\n", Fatal},
		"of a data set, by its name":     {"  File \"/app/io.py\", line 7, in __init__\n    self.read_dataset(path)\n  File \"/app/io.py\", line 9, in read\n", Fatal},
		"of a checkpoint":                {"  File \"/app/io.py\", line 9, in load_checkpoint\n", Retry},
		"of torch's, while data is made": {"  File \"/app/datasets/a.py\", line 9, in __init__\n    torch.load(p)\n  File \"/v/torch/serialization.py\", line 9, in _legacy_load\n", Fatal},
		"of who knows what":              {"  File \"/app/io.py\", line 9, in read\n", Fatal},
		"of weights that were given":     {"  File \"/app/net.py\", line 22, in load_networks\n    torch.load(path)\n  File \"/v/torch/serialization.py\", line 763, in _legacy_load\n", Fatal},
		"of a snapshot":                  {"  File \"/app/train.py\", line 22, in _load_snapshot\n    snapshot = torch.load(snapshot_path)\n", Retry},
		"of a message":                   {"  File \"/v/torch/distributed/distributed_c10d.py\", line 22, in _tensor_to_object\n    return _unpickler(io.BytesIO(buf)).load()\n", Retry},
		"of the run, as it resumes":      {"  File \"/app/run.py\", line 22, in resume\n    torch.load(path)\n  File \"/v/torch/serialization.py\", line 763, in _legacy_load\n", Retry},
	} {
		o := exited(1)
		o.Output = []byte(head + tt.frames + end)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || f.Evidence != "EOFError: Ran out of input" {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}

// TestNoPickle has data be no pickle, and a checkpoint be damaged.
func TestNoPickle(t *testing.T) {
	const head = "Traceback (most recent call last):\n  File \"/app/train.py\", line 77, in <module>\n    main()\n"
	const end = "_pickle.UnpicklingError: invalid load key, '\\x0d'.\n"
	for name, tt := range map[string]struct {
		frames string
		want   Verdict
	}{
		"data":                {"  File \"/app/dataset.py\", line 79, in __init__\n    self.images = torch.load(path)\n  File \"/v/torch/serialization.py\", line 459, in _load\n    magic_number = pickle_module.load(f)\n", Fatal},
		"data, by its source": {"  File \"/app/io.py\", line 9, in read\n    self.caption = pickle.load(f)\n", Fatal},
		"a pipe":              {"  File \"/usr/lib/python3.12/multiprocessing/spawn.py\", line 132, in _main\n    self = reduction.pickle.load(from_parent)\n", Retry},
		"a checkpoint":        {"  File \"/app/io.py\", line 9, in load_checkpoint\n    return pickle.load(f)\n", Retry},
		"who knows what":      {"  File \"/app/io.py\", line 9, in read\n    torch.load(path)\n  File \"/v/torch/serialization.py\", line 459, in _load\n    magic_number = pickle_module.load(f)\n", Retry},
	} {
		if f := Judge(exited(1).printing(head+tt.frames+end), BuiltinRules()); f.Verdict != tt.want {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}

// TestHeaderTooLarge has a file of safetensors be none, whose length of the header is too large: a model that was given stays so.
func TestHeaderTooLarge(t *testing.T) {
	const head = "Traceback (most recent call last):\n  File \"/app/train.py\", line 77, in <module>\n    main()\n"
	const end = "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge\n"
	for frame, want := range map[string]Verdict{
		"  File \"/v/transformers/modeling_utils.py\", line 9, in from_pretrained\n    cls._load_pretrained_model(model, checkpoint_files)\n": Fatal,
		"  File \"/v/transformers/trainer.py\", line 9, in _load_from_checkpoint\n":                                                           Retry,
		"  File \"/v/accelerate/checkpointing.py\", line 9, in load_accelerator_state\n":                                                      Retry,
	} {
		if f := Judge(exited(1).printing(head+frame+end), BuiltinRules()); f.Verdict != want {
			t.Errorf("%q: %s by %q: %s", frame, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
