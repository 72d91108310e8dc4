package checkpoint

import (
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/format"
)

// namespaceOf is what argparse has read from a command line, pickled: these names and values.
func namespaceOf(pairs ...string) []byte {
	return append(append([]byte("\x80\x02cargparse\nNamespace\n)\x81"), strings.TrimSuffix(strings.TrimPrefix(string(pickled(pairs...)), "\x80\x02"), ".")...), "b."...)
}

// TestWhatShows has directories in which the content, or the time, says what the names do not.
func TestWhatShows(t *testing.T) {
	agent := "}(" + keyIn("policy") + "}(" + keyIn("w") + tensorIn + "u" + keyIn("policy_optimizer") + optimizerIn + "u"
	agents := pickled("init_dict", "}("+keyIn("tau")+numberIn(1)+"u", "agent_params", "]("+agent+agent+"e")
	for name, tt := range map[string]cause{
		"states in a list of dicts":               {files: []wrote{{"model.pt", agents}}, path: "model.pt", step: -1},
		"states in a list of dicts of another":    {files: []wrote{{"model.pt", pickled("agents", "](}("+keyIn("nets")+"]("+agent+"eue")}}, path: "model.pt", step: -1},
		"a list of dicts of samples":              {files: []wrote{{"model.pt", pickled("x", "](}("+keyIn("x")+tensorIn+"u}("+keyIn("x")+tensorIn+"u}("+keyIn("x")+tensorIn+"ue")}}},
		"files named by a time, one level down":   {files: []wrote{{"checkpoints/2026_11_20-10_15_30.pt", stateOf("step", 10)}, {"checkpoints/2026_11_20-14_15_31.pt", stateOf("step", 20)}, {"checkpoints/2026_11_20-18_15_33.pt", stateOf("step", 30)[:60]}}, path: "checkpoints/2026_11_20-14_15_31.pt", step: 20},
		"parts of one save with its time":         {files: []wrote{{"ckpt/model_2026_11_20-10_15_30.pt", modelOnly()}, {"ckpt/optimizer_2026_11_20-10_15_31.pt", adamOnly()}}, path: "ckpt", step: -1},
		"ranks of one save with a time each":      {files: []wrote{{"ckpt/rank0_2026_11_20-10_15_30.pt", counted()}, {"ckpt/rank1_2026_11_20-10_15_31.pt", counted()}}, path: "ckpt", step: -1},
		"a directory with the number of a run":    {files: []wrote{{"41235/events.out.tfevents.1714560000.node0.42.0", blob(40)}, {"41235/fcn_best_model.pkl", counted("epoch", numberIn(12000))}}, path: "41235/fcn_best_model.pkl", step: 12000, unit: format.UnitEpoch},
		"the same, with two files":                {files: []wrote{{"41235/events.out.tfevents.1714560000.node0.42.0", blob(40)}, {"41235/best.pkl", counted("epoch", numberIn(11))}, {"41235/last.pkl", counted("epoch", numberIn(12))}}, path: "41235/last.pkl", step: 12, unit: format.UnitEpoch},
		"a directory with the number of a step":   {files: []wrote{{"4000/state.pkl", counted("epoch", numberIn(11))}, {"5000/state.pkl", counted("epoch", numberIn(12))}}, path: "5000", step: 5000},
		"a number in the name of a net":           {files: []wrote{{"FlowNet2_model_best.pth.tar", counted("epoch", numberIn(12))}, {"FlowNet2_checkpoint.pth.tar", counted("epoch", numberIn(13))[:60]}}, path: "FlowNet2_model_best.pth.tar", step: 12, unit: format.UnitEpoch},
		"a number of a step behind net":           {files: []wrote{{"net100.pt", counted()}, {"net200.pt", counted()}}, path: "net200.pt", step: 200},
		"counts that begin with num":              {files: []wrote{{"last_checkpoint.pytorch", counted("num_epochs", numberIn(12), "num_iterations", numberIn(30000))}}, path: "last_checkpoint.pytorch", step: 30000},
		"how many epochs there will be":           {files: []wrote{{"last_checkpoint.pytorch", counted("num_epochs", numberIn(12))}}, path: "last_checkpoint.pytorch", step: -1},
		"how much there will be, beside an epoch": {files: []wrote{{"checkpoint.pt", counted("epoch", numberIn(3), "num_epochs", numberIn(12), "num_iterations", numberIn(30000))}}, path: "checkpoint.pt", step: 3, unit: format.UnitEpoch},
		"arguments beside weights":                {files: []wrote{{"model_training_args.bin", namespaceOf("n_epochs", numberIn(3), "epoch", numberIn(100))}, {"checkpoint_mymodel_15000.pth", modelOnly()}}},
		"arguments under the name of a state":     {files: []wrote{{"checkpoint.pkl", namespaceOf("n_epochs", numberIn(3))}}},
		"a namespace with a state in it":          {files: []wrote{{"checkpoint.pkl", namespaceOf("epoch", numberIn(3), "model", "}("+keyIn("w")+tensorIn+"u", "optimizer", optimizerIn)}}, path: "checkpoint.pkl", step: 3, unit: format.UnitEpoch},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), tt.judge)
	}
}
