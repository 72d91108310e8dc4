package exitcodes

import (
	"strings"
	"testing"
)

// TestMeasures has the errors that a training job measures, which nothing failed of, and the best values of a run, which state nothing.
func TestMeasures(t *testing.T) {
	const wrong = "train: no such data set: foo\n"
	for _, measure := range []string{
		"Averaged stats: class_error: 75.00  loss: 7.3142 (7.5082)\n",
		"Episode 30/30, Avg Score: 44.80, Avg TD Error: 414.078789, Alpha: 0.099997\n",
		"Norm of error:  1.710315e-08\n",
		"Iteration = 4000\t Error = 1.137273\n",
		"pT Error Hist:[[0.00567311 0.00742349 0.01050632\n",
		"Best parameters: {'initial_temp': 751.635, 'cooling_rate': 0.9947, 'max_iter': 10000}\n",
		"Signal Min: 0.03337326645851135, Max: 1.0, Mean: 0.5\n",
	} {
		for _, output := range []string{measure, wrong + measure} {
			o := exited(1)
			o.Output = []byte(output)
			if f := Judge(o, BuiltinRules()); f.Verdict != Fatal || strings.Contains(f.Evidence, strings.TrimSpace(measure)) {
				t.Errorf("%q: %s by %q: %s", output, f.Verdict, f.Rule, f.Message)
			}
		}
	}
	for _, said := range []string{"Error 404 for DOI: 10.37934/araset.43.1.116\n", "error: 10.0.0.5: no such host\n", "loss error: 1.5, failed to save\n", "config.yaml: line 4: no such key\n"} {
		o := exited(1)
		o.Output = []byte("step 1\n" + said)
		if f := Judge(o, BuiltinRules()); f.Evidence != strings.TrimSpace(said) {
			t.Errorf("%q: %s by %q: %s", said, f.Verdict, f.Rule, f.Message)
		}
	}
}
