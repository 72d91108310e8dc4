package format

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// nvrxSave is one save of a node with these ranks. Each removes its older iterations when the new one is there.
func nvrxSave(session string, iteration, older int, ranks ...int) (ops []op) {
	for _, rank := range ranks {
		name := fmt.Sprintf("%s%d/iter_%07d_%d_local", session, rank, iteration, rank)
		ops = append(ops, write(name+".dirty.pt", filetest.Torch([]byte("state"))), rename(name+".dirty.pt", name+".pt"))
	}
	for _, rank := range ranks {
		if older > 0 {
			ops = append(ops, remove(fmt.Sprintf("%s%d/iter_%07d_%d_local.pt", session, rank, older, rank)))
		}
	}
	return ops
}

func TestNVRxPrefixes(t *testing.T) {
	// The second save, so that the directories of all ranks are there. When the last rank is done, it is whole; while the
	// older one is being removed, it stays so.
	first, second := nvrxSave("job7/", 100, 0, 8, 9), nvrxSave("job7/", 200, 100, 8, 9)
	playPrefixes(t, Options{}, "job7/iter_0000200", append(first, second...), 8, 9)
}

func TestNVRxMutations(t *testing.T) {
	save := append(nvrxSave("job7/", 100, 0, 8, 9), nvrxSave("job7/", 200, 0, 8, 9)...)
	const file = "job7/9/iter_0000200_9_local"
	mutate(t, Options{}, "job7/iter_0000200", save, []mutation{
		{"whole", nil, ""},
		{"rank missing", []op{remove(file + ".pt")}, problem.MissingShard},
		{"rank missing, and its replica here", []op{rename(file+".pt", "job7/8/iter_0000200_9_local.pt")}, ""},
		{"being written", []op{rename(file+".pt", file+".dirty.pt")}, problem.InProgress},
		{"empty", []op{truncated(file+".pt", 0)}, problem.EmptyFile},
		{"truncated", []op{truncated(file+".pt", -2)}, problem.Truncated},
		{"another session", nvrxSave("job8/", 300, 0, 8), ""},
	})
}

func TestNVRxFields(t *testing.T) {
	for _, session := range []string{"job7/", ""} {
		d := newDisk(t)
		d.play(nvrxSave(session, 200, 0, 8, 9)...)
		cs := see(t, d.fs(), Options{Level: Manifests})
		c := one(t, cs, session+"iter_0000200")
		if c.Format != "nvrx_local" || c.Step != 200 || c.ShardsExpected != 2 || c.ShardsFound != 2 || c.Elastic ||
			c.Basis != BasisGrid || c.Tag != "iter_0000200" || len(cs) != 1 ||
			session != "" && (c.RunID != "job7" || c.Root != "job7") {
			t.Errorf("%+v", c)
		}
	}
}

func TestNVRxUnreadable(t *testing.T) {
	d := newDisk(t)
	d.play(nvrxSave("job7/", 200, 0, 8, 9)...)
	broken := failing{d.fs(), "job7/9/iter_0000200_9_local.pt", errors.New("i/o error")}
	if c := one(t, see(t, broken, Options{Level: Manifests}), "job7/iter_0000200"); !c.Reason.Unknown() {
		t.Errorf("%+v", c)
	}
	broken.path = "job7/9"
	found, err := Find(t.Context(), broken, Options{})
	if wrong, ok := errors.AsType[*problem.Error](err); !ok || !wrong.Reason.Unknown() {
		t.Error(list(found.Checkpoints), err)
	}
}
