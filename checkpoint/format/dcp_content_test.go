package format

import (
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// dcpOf is a directory with items of a distributed checkpoint, all in one shard.
func dcpOf(dir string, items ...filetest.DCPItem) []op {
	metadata, shard := filetest.DCP("__0_0.distcp", items...)
	return []op{write(dir+"/__0_0.distcp", shard), write(dir+"/.metadata", metadata)}
}

// TestDCPStep reads the step in a shard, which goes before the number in the name but where this counts steps, too, and the
// content epochs.
func TestDCPStep(t *testing.T) {
	number := func(key string, n int64) filetest.DCPItem {
		return filetest.DCPItem{Key: key, Data: filetest.TorchNumber(n, false)}
	}
	tensor := func(key string, n int64) filetest.DCPItem {
		return filetest.DCPItem{Key: key, Data: filetest.TorchNumber(n, true)}
	}
	other := filetest.DCPItem{Key: "optim.exp_avg", Data: anyTorch()}
	for _, test := range []struct {
		name  string
		items []filetest.DCPItem
		step  int64
		unit  Unit
	}{
		{"latest", []filetest.DCPItem{other, number("step", 120)}, 120, UnitStep},
		{"latest", []filetest.DCPItem{number("epoch", 3), tensor("train_state.step", 77)}, 77, UnitStep},
		{"latest", []filetest.DCPItem{number("app.global_step", 5), other}, 5, UnitStep},
		{"latest", []filetest.DCPItem{number("epoch", 3)}, 3, UnitEpoch},
		{"latest", []filetest.DCPItem{number("trainer.step", 9), number("step", 8)}, 8, UnitStep},
		{"epoch_3", []filetest.DCPItem{number("step", 300), other}, 300, UnitStep},
		{"step_300", []filetest.DCPItem{number("epoch", 3), other}, 300, UnitStep},
		{"run2_fp16", []filetest.DCPItem{number("step", 40)}, 40, UnitStep},
		// What an optimizer counts for each parameter, what is no number, and what is too large for one.
		{"latest", []filetest.DCPItem{number("optim.state.w.step", 6), number("optim.step", 7), other}, -1, UnitStep},
		{"latest", []filetest.DCPItem{{Key: "step", Data: anyTorch()}, other}, -1, UnitStep},
		{"latest", []filetest.DCPItem{{Key: "step", Data: filetest.Zip(filetest.Record{Name: "a/data.pkl", Data: make([]byte, 1<<17)})}}, -1, ""},
	} {
		d := newDisk(t)
		d.play(dcpOf(test.name, test.items...)...)
		c := one(t, see(t, d.fs(), Options{Level: Manifests}), test.name)
		if c.Step != test.step || test.step >= 0 && c.Unit != test.unit || !c.Complete || !c.Resumable || !c.Training ||
			(c.Step < 0) != (c.Identity != "") {
			t.Errorf("%s, %s: %+v", test.name, test.items[0].Key, c)
		}
	}
	// What an extension of the writer has compressed or encrypted cannot be read, and loads.
	zstandard := append([]byte{0x28, 0xb5, 0x2f, 0xfd}, filetest.TorchNumber(5, false)...)
	like := append([]byte("PK\x03\x04"), make([]byte, 60)...)
	for _, item := range []filetest.DCPItem{
		{Key: "step", Data: zstandard},
		{Key: "step", Data: zstandard, Transforms: []string{"stream.zstd/1"}},
		{Key: "step", Data: like, Transforms: []string{"stream.zstd/1", "another"}},
	} {
		d := newDisk(t)
		d.play(dcpOf("latest", filetest.DCPItem{Key: "optim.exp_avg", Data: zstandard}, item)...)
		if c := one(t, see(t, d.fs(), Options{Level: Manifests}), "latest"); !c.Complete || !c.Resumable || c.Step >= 0 || c.Reason != "" {
			t.Errorf("%q: %+v", item.Transforms, c)
		}
	}
	// A step that cannot be read is a checkpoint that does not load.
	spoilt := tensor("step", 5)
	spoilt.Data = append(make([]byte, 40), spoilt.Data[40:]...)
	d := newDisk(t)
	d.play(dcpOf("latest", other, spoilt)...)
	if c := one(t, see(t, d.fs(), Options{Level: Manifests}), "latest"); c.Reason != problem.BadZip {
		t.Errorf("%+v", c)
	}
}
