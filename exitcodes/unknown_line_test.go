package exitcodes

import (
	"strings"
	"testing"
)

// TestUnknownLine has programs say what no rule knows: the line that tells what it is is shown, and not its heading or advice.
func TestUnknownLine(t *testing.T) {
	for _, tt := range []struct{ output, want string }{
		{"Usage: main.py [OPTIONS]\nTry 'main.py --help' for help.\n╭─ Error ───────────────────╮\n│ Missing option '--data'.  │\n╰───────────────────────────╯\n", "Missing option '--data'."},
		{"ERROR: Could not consume arg: --lerning_rate\nUsage: train.py --base_model <value>\n", "Could not consume arg: --lerning_rate"},
		{"RuntimeError: \nThe detected CUDA version (12.1) mismatches the version that was used to compile\nPyTorch (11.7).\n", "The detected CUDA version (12.1) mismatches"},
		{"nvcc fatal   : Unsupported gpu architecture 'compute_89'\nninja: build stopped: subcommand failed.\n", "Unsupported gpu architecture"},
		{"a.cu:7:10: fatal error: cusparse.h: No such file or directory\ncompilation terminated.\n", "cusparse.h"},
		{"**KeyError: 'img_metas'**\n", "KeyError: 'img_metas'"},
	} {
		if f := Judge(exited(1).printing("Loading run.yaml\n"+tt.output), BuiltinRules()); f.Verdict != Fatal || !strings.Contains(f.Evidence, tt.want) || strings.Contains(f.Evidence, "**") {
			t.Errorf("%s %q, want %q", f.Verdict, f.Evidence, tt.want)
		}
	}
}
