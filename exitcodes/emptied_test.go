package exitcodes

import "testing"

// TestEmptied has files be empty or no pickle, and a file of safetensors be none, whose length of the header is too large: they stay
// so, but a checkpoint of the run may have others before it.
func TestEmptied(t *testing.T) {
	const (
		empty    = "EOFError: Ran out of input"
		noPickle = "_pickle.UnpicklingError: invalid load key, '\\x0d'."
		header   = "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge"
	)
	for _, tt := range []struct {
		what, end, frames string
		want              Verdict
	}{
		{"of a data set", empty, "  File \"/app/datasets/nuscenes.py\", line 79, in load_infos\n", Fatal},
		{"of a data set, by its name", empty, "  File \"/app/io.py\", line 7, in __init__\n    self.read_dataset(path)\n  File \"/app/io.py\", line 9, in read\n", Fatal},
		{"of a checkpoint", empty, "  File \"/app/io.py\", line 9, in load_checkpoint\n", Retry},
		{"of torch's, while data is made", empty, "  File \"/app/datasets/a.py\", line 9, in __init__\n    torch.load(p)\n  File \"/v/torch/serialization.py\", line 9, in _legacy_load\n", Fatal},
		{"of who knows what", empty, "  File \"/app/io.py\", line 9, in read\n", Fatal},
		{"of weights that were given", empty, "  File \"/app/net.py\", line 22, in load_networks\n    torch.load(path)\n  File \"/v/torch/serialization.py\", line 763, in _legacy_load\n", Fatal},
		{"of a snapshot", empty, "  File \"/app/train.py\", line 22, in _load_snapshot\n    snapshot = torch.load(snapshot_path)\n", Retry},
		{"of a message", empty, "  File \"/v/torch/distributed/distributed_c10d.py\", line 22, in _tensor_to_object\n    return _unpickler(io.BytesIO(buf)).load()\n", Retry},
		{"of the run, as it resumes", empty, "  File \"/app/run.py\", line 22, in resume\n    torch.load(path)\n  File \"/v/torch/serialization.py\", line 763, in _legacy_load\n", Retry},
		{"data", noPickle, "  File \"/app/dataset.py\", line 79, in __init__\n    self.images = torch.load(path)\n  File \"/v/torch/serialization.py\", line 459, in _load\n    magic_number = pickle_module.load(f)\n", Fatal},
		{"data, by its source", noPickle, "  File \"/app/io.py\", line 9, in read\n    self.caption = pickle.load(f)\n", Fatal},
		{"a pipe", noPickle, "  File \"/usr/lib/python3.12/multiprocessing/spawn.py\", line 132, in _main\n    self = reduction.pickle.load(from_parent)\n", Retry},
		{"a checkpoint", noPickle, "  File \"/app/io.py\", line 9, in load_checkpoint\n    return pickle.load(f)\n", Retry},
		{"who knows what", noPickle, "  File \"/app/io.py\", line 9, in read\n    torch.load(path)\n  File \"/v/torch/serialization.py\", line 459, in _load\n    magic_number = pickle_module.load(f)\n", Retry},
		{"a model that was given", header, "  File \"/v/transformers/modeling_utils.py\", line 9, in from_pretrained\n    cls._load_pretrained_model(model, checkpoint_files)\n", Fatal},
		{"a checkpoint of the trainer", header, "  File \"/v/transformers/trainer.py\", line 9, in _load_from_checkpoint\n", Retry},
		{"a state", header, "  File \"/v/accelerate/checkpointing.py\", line 9, in load_accelerator_state\n", Retry},
	} {
		o := exited(1).printing("Traceback (most recent call last):\n  File \"/app/train.py\", line 77, in <module>\n    main()\n" + tt.frames + tt.end + "\n")
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || f.Evidence != tt.end {
			t.Errorf("%s, %s: %s by %q: %s", tt.end, tt.what, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
