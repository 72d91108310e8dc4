package format

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// dlroverSave is a save in which every rank has its own file, and reports when it is written.
func dlroverSave(step, ranks int) []op {
	const stage = "._dlrover_ckpt_stage"
	ops := []op{mkdir(fmt.Sprintf("%s/%d.done", stage, step))}
	for rank := range ranks {
		ops = append(ops, write(fmt.Sprintf("%d/rank_%d.pt", step, rank), filetest.Torch([]byte("state"))),
			writeText(fmt.Sprintf("%s/%d.done/%d", stage, step, rank), ""))
	}
	return append(ops, writeText("dlrover_latest.txt", fmt.Sprint(step)), remove(fmt.Sprintf("%s/%d.done", stage, step)))
}

func TestDLRoverPrefixes(t *testing.T) {
	playPrefixes(t, Options{}, "200", append(dlroverSave(100, 2), dlroverSave(200, 2)...))
	t.Run("moved to its place", func(t *testing.T) {
		playPrefixes(t, Options{}, "100", []op{
			mkdir("._dlrover_ckpt_stage/100"), mkdir("._dlrover_ckpt_stage/100.done"),
			write("._dlrover_ckpt_stage/100/rank_0.pt", filetest.Torch()),
			writeText("._dlrover_ckpt_stage/100.done/0", ""),
			rename("._dlrover_ckpt_stage/100", "100"),
			remove("._dlrover_ckpt_stage/100.done"),
			writeText("dlrover_latest.txt", "100"),
		})
	})
}

func TestDLRoverMutations(t *testing.T) {
	save := append(dlroverSave(100, 2), dlroverSave(200, 2)...)
	mutate(t, Options{}, "200", save, []mutation{
		{"whole", nil, ""},
		{"rank missing", []op{remove("200/rank_0.pt")}, problem.MissingShard},
		{"truncated", []op{truncated("200/rank_1.pt", -1)}, problem.Truncated},
		{"empty", []op{truncated("200/rank_1.pt", 0)}, problem.EmptyFile},
		{"never committed", []op{writeText("dlrover_latest.txt", "100")}, problem.NoMarker},
		{"being committed", []op{mkdir("._dlrover_ckpt_stage/200.done")}, problem.UnfinishedMarker},
		{"tracker garbled", []op{writeText("dlrover_latest.txt", "")}, ""},
	})
	mutate(t, Options{}, "._dlrover_ckpt_stage/300", append(save, mkdir("._dlrover_ckpt_stage/300")), []mutation{
		{"staged", nil, problem.InProgress},
	})
	mutate(t, Options{}, "300", append(save, writeText("dlrover_latest.txt", "300")), []mutation{
		{"dangling", nil, problem.PointerDangling},
	})
	mutate(t, Options{}, "dlrover_latest.txt", append(save, writeText("dlrover_latest.txt", "x")), []mutation{
		{"malformed", nil, problem.PointerMalformed},
	})
	dcp := append(megatronDistSave("100", "torch_dcp"), writeText("dlrover_latest.txt", "100"),
		remove("latest_checkpointed_iteration.txt"))
	mutate(t, Options{}, "100", dcp, []mutation{
		{"of torch.distributed.checkpoint", nil, ""},
		{"of torch.distributed.checkpoint, torn", []op{remove("100/__1_0.distcp")}, problem.MissingShard},
	})
}

func TestDLRoverUnreadable(t *testing.T) {
	d := newDisk(t)
	d.play(dlroverSave(100, 2)...)
	for _, path := range []string{"100", "100/rank_1.pt", "._dlrover_ckpt_stage/100.done", "dlrover_latest.txt"} {
		c := one(t, see(t, failing{d.fs(), path, errors.New("i/o error")},
			Options{Level: Manifests, Format: "dlrover"}), "100")
		if c.Complete || !c.Reason.Unknown() {
			t.Errorf("%s: %+v", path, c)
		}
	}
}
