package checkpoint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
)

// inParts is a save that has each part in a directory of its own, that of the optimizer written by
// torch.distributed.checkpoint, whose marker comes last.
func inParts(step int, marker bool) []wrote {
	dir := fmt.Sprint("step_", step)
	files := []wrote{{dir + "/model/model.safetensors", weights()}, {dir + "/rng/rng_rank_0.pt", pickled("torch", tensorIn)}, {dir + "/scheduler.pt", pickled("step", numberIn(step))},
		{dir + "/optim/__0_0.distcp", []byte("shard")}}
	if marker {
		files = append(files, wrote{dir + "/optim/.metadata", filetest.DCPMetadata([]string{"__0_0.distcp"}, []int64{5})})
	}
	return files
}

// TestForms has saves of several files and directories, the parts of which are of different forms.
func TestForms(t *testing.T) {
	join := func(all ...[]wrote) (files []wrote) {
		for _, f := range all {
			files = append(files, f...)
		}
		return files
	}
	for name, tt := range map[string]cause{
		"an optimizer of another form":            {files: join(inParts(100, true)), path: "step_100", step: 100},
		"one that was cut":                        {files: join(inParts(90, true), inParts(100, false)), path: "step_90", step: 90},
		"one that is not there":                   {files: join(inParts(90, true), inParts(100, false)[:3]), path: "step_90", step: 90},
		"two parts of another form, and one torn": {files: join(inParts(90, true)[3:], []wrote{{"step_90/model/__0_0.distcp", []byte("shard")}, {"step_90/model/.metadata", filetest.DCPMetadata([]string{"__0_0.distcp"}, []int64{5})}}, inParts(100, true)[3:], []wrote{{"step_100/model/__0_0.distcp", []byte("shard")}}), path: "step_90", step: 90},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), tt.judge)
	}
}
