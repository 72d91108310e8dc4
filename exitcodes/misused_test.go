package exitcodes

import "testing"

// TestMisused has a program that is called wrongly, after a run of it that a person had stopped, in the same file.
func TestMisused(t *testing.T) {
	const (
		interrupted = "KeyboardInterrupt\n"
		usage       = "usage: train.py [-h] [--lr LR]\n                --data_dir DATA_DIR\n"
		wrong       = "train.py: error: the following arguments are required: --data_dir\n"
	)
	for name, tt := range map[string]struct {
		code   int
		output string
		want   Verdict
	}{
		"argparse":                  {2, wrap("KeyboardInterrupt") + usage + wrong, Fatal},
		"click":                     {2, interrupted + "Usage: train.py [OPTIONS]\nTry 'train.py --help' for help.\n\nError: No such option: --lrr\n", Fatal},
		"another code":              {1, wrap("KeyboardInterrupt") + usage + wrong, Preempted},
		"no usage":                  {2, wrap("KeyboardInterrupt") + wrong, Preempted},
		"and something after that":  {2, usage + wrong + wrap("KeyboardInterrupt"), Preempted},
		"a sentence with that word": {2, wrap("ConnectionResetError: [Errno 104] Connection reset by peer") + usage + "the last error: error: 3\n", Retry},
	} {
		if f := Judge(exited(tt.code).printing(tt.output), BuiltinRules()); f.Verdict != tt.want {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}
