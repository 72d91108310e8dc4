package format

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// FuzzFile puts anything in the place of any one file of a save of each format, and looks as far as one can.
func FuzzFile(f *testing.F) {
	var saves []fstest.MapFS
	for _, ops := range [][]op{
		accelerateSave("checkpoint_0"), composerSave(), dcpSave("step-100"), dlroverSave(100, 2), hfSave("checkpoint-4", 4),
		kerasSave(1, false), kerasShardsSave(3), megatronLegacySave("iter_0000100", true, false, 1, 1, 1),
		megatronDistSave("iter_0000100", "torch_dist"), megatronBridgeSave("iter_0000100"), nemoDistributed(f),
		nvrxSave("job7/", 100, 0, 8, 9), orbaxSave("5"), savedModelSave("4"), tfSave("ckpt-7", tfState("ckpt-7")), snapshotSave("epoch_3"),
		verlSave(100, 2), lightningSharded(f),
	} {
		d, s := newDisk(f), fstest.MapFS{}
		d.play(ops...)
		err := fs.WalkDir(d.fs(), ".", func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			data, err := fs.ReadFile(d.fs(), path)
			s[path] = &fstest.MapFile{Data: data, ModTime: info.ModTime()}
			return err
		})
		if err != nil || len(see(f, s, Options{Level: Everything})) == 0 {
			f.Fatal(s, err)
		}
		saves = append(saves, s)
	}
	for i, s := range saves {
		for j, path := range slices.Sorted(maps.Keys(s)) {
			if data := s[path].Data; len(data) < 4<<10 {
				f.Add(uint8(i), uint8(j), data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, save, file uint8, data []byte) {
		s := maps.Clone(saves[int(save)%len(saves)])
		path := slices.Sorted(maps.Keys(s))[int(file)%len(s)]
		s[path] = &fstest.MapFile{Data: data, ModTime: s[path].ModTime}
		for _, c := range see(t, s, Options{Level: Everything}) {
			whole := c.Reason == "" || c.Complete && !c.Resumable
			if c.Complete && !whole || !c.Complete && c.Reason == "" || c.Resumable && !c.Complete || c.Step < -1 || c.Size < 0 ||
				strings.Contains(c.Detail, "failed to look") { // a panic
				t.Errorf("%s: %+v", path, c)
			}
		}
	})
}
