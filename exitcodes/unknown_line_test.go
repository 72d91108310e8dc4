package exitcodes

import (
	"strings"
	"testing"
)

// TestUnseen: where the output went to a terminal, no rule could explain it, unless the error file tells.
func TestUnseen(t *testing.T) {
	for output, want := range map[string]string{"": "the worker exited 3; " + Unseen, "ValueError: the moon is full\n": "; no rule explains it"} {
		o := exited(3).printing(output)
		o.Unseen = true
		if f := Judge(o, BuiltinRules()); !strings.HasSuffix(f.Message, want) {
			t.Errorf("%q, want %q", f.Message, want)
		}
	}
}

// TestUnknownLine has programs say what no rule knows: the line that tells what it is is shown, and not its heading or advice.
func TestUnknownLine(t *testing.T) {
	for _, tt := range []struct{ output, want string }{
		{"Usage: main.py [OPTIONS]\nTry 'main.py --help' for help.\n╭─ Error ───────────────────╮\n│ Missing option '--data'.  │\n╰───────────────────────────╯\n", "Missing option '--data'."},
		{"ERROR: Could not consume arg: --lerning_rate\nUsage: train.py --base_model <value>\n", "Could not consume arg: --lerning_rate"},
		{"RuntimeError: \nThe detected CUDA version (12.1) mismatches the version that was used to compile\nPyTorch (11.7).\n", "The detected CUDA version (12.1) mismatches"},
		{"nvcc fatal   : Unsupported gpu architecture 'compute_89'\nninja: build stopped: subcommand failed.\n", "Unsupported gpu architecture"},
		{"a.cu:7:10: fatal error: cusparse.h: No such file or directory\ncompilation terminated.\n", "cusparse.h"},
		{"Runtime Error: Loss became infinite or NaN at iteration=166!\nloss_dict = {'loss_cls_ce': nan, 'loss_box_reg': nan, 'loss_ins_con': 0.0}\n", "Loss became infinite"},
		{"push: dial tcp 10.0.0.1:9091: connect: connection refused\nconfig.yaml: line 4: no field of that name\n", "line 4"},
		{"RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for fc.weight: copying a param with shape torch.Size([9])\n\tsize mismatch for fc.bias: copying a param with shape torch.Size([9])\n", "Error(s) in loading"},
		{"Error using dlmread (line 62)\nThe file 'x.csv' could not be opened because: No such file or directory\n\nError in trainAll (line 13)\n\tc = dlmread(f{j});\n", "could not be opened"},
		{"2025-01-04 17:18:06,410 - ERROR - no tokenizer: Can't load tokenizer for 'org/m'. If you were trying to load it from 'https://example.com/models', look there.\n", "Can't load tokenizer"},
		{"subprocess.CalledProcessError: Command '['/usr/bin/gcc', 'main.c']' returned non-zero exit status 1.\n", "/usr/bin/gcc"},
		{"error: no axis 3 in it\nException in background worker 11:\n no data left in file\nTraceback (most recent call last):\n  File \"/v/augmenter.py\", line 53, in producer\n    item = next(loader)\n           ^^^^\n", "no data left in file"},
		{"2026-05-22 05:13:36 - [ERROR] - World size 2 must be divisible by 3.\n2026-05-22 05:13:36 - [ERROR] - Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in main\n  File", "World size 2"},
		{"mxnet.base.MXNetError: [13:55:53] include/mxnet/tensor_blob.h:290: Check failed: a.Size() == b.Size() (6 vs. 12) : shapes do not match\nStack trace:\n  [bt] (0) /v/libmxnet.so(dmlc::LogMessageFatal::~LogMessageFatal()+0x32) [0x7f9c]\n", "shapes do not match"},
		{"bash: --num_envs: command not found\n+ [[ -n '' ]]\n+ [[ -n '' ]]\n+ [[ -n '' ]]\n+ return 127\n", "--num_envs"},
		{"At line 812 of file read.f90 (unit = 41, file = 'flux.txt')\nFortran runtime error: Bad real number in item 2 of list input\n\nError termination. Backtrace:\n#0  0x7f9c12e23d21 in ???\ncp: cannot stat 'ocean.output': No such file or directory\n", "Bad real number"},
		{"cp: cannot stat 'ocean.output': No such file or directory\n", "ocean.output"},
		{"**KeyError: 'img_metas'**\n", "KeyError: 'img_metas'"},
	} {
		if f := Judge(exited(1).printing("Loading run.yaml\n"+tt.output), BuiltinRules()); f.Verdict != Fatal || !strings.Contains(f.Evidence, tt.want) || strings.Contains(f.Evidence, "**") {
			t.Errorf("%s %q, want %q", f.Verdict, f.Evidence, tt.want)
		}
	}
}
