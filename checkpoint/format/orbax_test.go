package format

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

func orbaxMetaJSON(committed bool) string {
	s := `{"item_handlers": {"state": "x.StandardCheckpointHandler", "extra": "x.JsonCheckpointHandler"}, "metrics": {"loss": NaN},
 "init_timestamp_nsecs": 1795311135605142915, "commit_timestamp_nsecs": `
	if committed {
		return s + "1795311135703098974}"
	}
	return s + "null}"
}

// orbaxItemOps writes an item of arrays by two processes, and merges what they wrote.
func orbaxItemOps(dir string) []op {
	m := filetest.OCDBTManifest("b-tree")
	return []op{
		write(dir+"/ocdbt.process_0/d/44ff", []byte("data")),
		write(dir+"/ocdbt.process_0/manifest.ocdbt", m),
		write(dir+"/ocdbt.process_1/d/761e", []byte("data")),
		write(dir+"/ocdbt.process_1/manifest.ocdbt", m),
		writeText(dir+"/_sharding", "{}"),
		write(dir+"/array_metadatas/process_0", []byte("{}")),
		writeText(dir+"/_METADATA", `{"tree_metadata": {}, "use_ocdbt": true}`),
		write(dir+"/d/8e66", []byte("tree")),
		write(dir+"/manifest.ocdbt", m),
	}
}

// orbaxSave is the order of CheckpointManager where directories can be renamed.
func orbaxSave(step string) []op {
	dir := step + ".orbax-checkpoint-tmp"
	item := dir + "/state.orbax-checkpoint-tmp"
	return slices.Concat(
		[]op{mkdir(dir), writeText(dir+"/_CHECKPOINT_METADATA", orbaxMetaJSON(false)),
			writeText(dir+"/extra.orbax-checkpoint-tmp/metadata", "{}"), writeText(dir+"/extra.orbax-checkpoint-tmp/commit_success.txt", "ok"),
			rename(dir+"/extra.orbax-checkpoint-tmp", dir+"/extra")},
		orbaxItemOps(item),
		[]op{writeText(item+"/commit_success.txt", "ok"), rename(item, dir+"/state"),
			writeText(dir+"/_CHECKPOINT_METADATA", orbaxMetaJSON(true)),
			writeText(dir+"/commit_success.txt", "Checkpoint commit was successful"), rename(dir, step)})
}

// orbaxStore is the order where nothing can be renamed, in an object store.
func orbaxStore(step string) []op {
	return slices.Concat(
		[]op{writeText(step+"/_CHECKPOINT_METADATA", orbaxMetaJSON(false)),
			writeText(step+"/extra/metadata", "{}"), writeText(step+"/extra/commit_success.txt", "ok")},
		orbaxItemOps(step+"/state"),
		[]op{writeText(step+"/state/commit_success.txt", "ok"), writeText(step+"/_CHECKPOINT_METADATA", orbaxMetaJSON(true)),
			writeText(step+"/commit_success.txt", "ok")})
}

// orbaxOld is the order of versions before 0.11, which leave no file behind, and note the time after the rename.
func orbaxOld(step string) []op {
	dir := step + ".orbax-checkpoint-tmp-1700000000000"
	return slices.Concat(
		[]op{mkdir(dir)}, orbaxItemOps(dir+"/default.orbax-checkpoint-tmp-1700000000001"),
		[]op{rename(dir+"/default.orbax-checkpoint-tmp-1700000000001", dir+"/default"), rename(dir, step)})
}

func TestOrbaxPrefixes(t *testing.T) {
	playPrefixes(t, Options{}, "100", orbaxSave("100"))
	playPrefixes(t, Options{}, "ckpt_00000100", orbaxSave("ckpt_00000100"))
	store := orbaxStore("100") // where the time of the end is noted, Orbax restores without the last file
	playPrefixes(t, Options{}, "100", store, len(store)-1)
	playPrefixes(t, Options{}, "100", orbaxOld("100"))
}

func TestOrbaxMutations(t *testing.T) {
	mutate(t, Options{}, "100", orbaxSave("100"), []mutation{
		{"nothing", nil, ""},
		{"copied to a store without the marker", []op{remove("100/commit_success.txt")}, ""},
		{"an empty marker", []op{truncated("100/commit_success.txt", 0)}, ""},
		{"empty metadata, which Orbax puts up with", []op{truncated("100/_CHECKPOINT_METADATA", 0)}, ""},
		{"no metadata", []op{remove("100/_CHECKPOINT_METADATA")}, ""},
		{"torn metadata", []op{truncated("100/_CHECKPOINT_METADATA", 30)}, ""},
		{"no time of the end, but the marker", []op{writeText("100/_CHECKPOINT_METADATA", orbaxMetaJSON(false))}, ""},
		{"not merged", []op{remove("100/state/manifest.ocdbt")}, problem.NoMarker},
		{"an empty manifest", []op{truncated("100/state/manifest.ocdbt", 0)}, problem.EmptyFile},
		{"a cut manifest", []op{truncated("100/state/manifest.ocdbt", -1)}, problem.Truncated},
		{"zeros after the manifest", []op{appended("100/state/manifest.ocdbt", make([]byte, 9))}, problem.SizeMismatch},
		{"a hole in the manifest", []op{zeroed("100/state/manifest.ocdbt", 12, 15)}, problem.HashMismatch},
		{"a process without a manifest", []op{remove("100/state/ocdbt.process_1/manifest.ocdbt")}, ""},
		{"a cut manifest of a process", []op{truncated("100/state/ocdbt.process_1/manifest.ocdbt", -1)}, ""},
		{"an empty description of the tree", []op{truncated("100/state/_METADATA", 0)}, problem.EmptyFile},
		{"a torn description of the tree", []op{truncated("100/state/_METADATA", 9)}, problem.BadJSON},
		{"an item is missing", []op{remove("100/extra")}, problem.MissingShard},
		{"an item of JSON that has no value", []op{writeText("100/extra/metadata", `{"loss": NaN, "best": -Infinity}`)}, ""},
		{"an item of JSON that is cut", []op{writeText("100/extra/metadata", `{"loss": NaN`)}, problem.BadJSON},
		{"what NFS keeps of a removed file", []op{writeText("100/extra/.nfs0000001", "x")}, ""},
		{"all items are missing", []op{remove("100/extra"), remove("100/state")}, problem.MissingShard},
		{"an item is being written", []op{rename("100/extra", "100/extra.orbax-checkpoint-tmp-17")}, problem.InProgress},
		{"copied in any order", []op{touched("100/state/d/8e66")}, ""},
		{"version 1's empty file", []op{write("100/orbax.checkpoint", nil)}, ""},
		{"an item of the program's own", []op{writeText("100/dataset/state.bin", "x")}, ""},
	})
	// Version 1: one item without a marker of its own, and what tells that it was renamed is the time.
	v1 := slices.Concat([]op{write("7/orbax.checkpoint", nil), writeText("7/_CHECKPOINT_METADATA",
		`{"item_handlers": {"pytree": "h"}, "init_timestamp_nsecs": 1, "commit_timestamp_nsecs": 2}`)}, orbaxItemOps("7/pytree"))
	mutate(t, Options{}, "7", v1, []mutation{
		{"nothing", nil, ""},
		{"no time of the end", []op{writeText("7/_CHECKPOINT_METADATA", `{"item_handlers": {"pytree": "h"}, "init_timestamp_nsecs": 1}`)},
			problem.NoMarker},
		{"a name that leads out", []op{writeText("7/_CHECKPOINT_METADATA",
			`{"item_handlers": {"../../x": "h"}, "commit_timestamp_nsecs": 2}`)}, ""},
	})
	// The directory is a single checkpoint, and itself its only item.
	direct := append(orbaxItemOps("."), writeText("_CHECKPOINT_METADATA",
		`{"item_handlers": "h", "init_timestamp_nsecs": 1, "commit_timestamp_nsecs": 2}`), writeText("commit_success.txt", "ok"))
	mutate(t, Options{}, ".", direct, []mutation{
		{"nothing", nil, ""},
		{"not merged", []op{remove("manifest.ocdbt")}, problem.NoMarker},
		{"arrays in files of their own", []op{remove("manifest.ocdbt"), remove("ocdbt.process_0"), remove("ocdbt.process_1"),
			writeText("params.w/.zarray", `{"shape":[2,3],"chunks":[2,2]}`), write("params.w/0.0", filler(9)), write("params.w/0.1", filler(9))}, ""},
		{"a chunk is gone", []op{remove("manifest.ocdbt"), remove("ocdbt.process_0"), remove("ocdbt.process_1"),
			writeText("params.w/.zarray", `{"shape":[2,3],"chunks":[2,2]}`), write("params.w/0.0", filler(9))}, problem.MissingShard},
	})
}

func TestOrbaxFields(t *testing.T) {
	d := newDisk(t)
	d.play(orbaxSave("100")...)
	d.play(orbaxOld("90")...)
	cs := see(t, d.fs(), Options{Level: Manifests})
	c, old := one(t, cs, "100"), one(t, cs, "90")
	if c.Step != 100 || c.Basis != BasisMarker || c.ModifiedFrom != ModifiedInternal || !c.Modified.Equal(time.Unix(1795311135, 703098974)) ||
		!c.Elastic || c.ShardsFound != 2 || c.WorldSize != 0 {
		t.Errorf("%+v", c)
	}
	if old.Step != 90 || old.Basis != BasisStructure || old.ModifiedFrom != ModifiedShard || old.Size < 100 {
		t.Errorf("%+v", old)
	}
	// An emergency checkpoint is one node's, and as many processes have to resume from it.
	d.play(orbaxSave("110")...)
	d.play(writeText("110/process_metadata/global_process_metadata.json", "[[0,1],[2,3],[4,5]]"),
		writeText("110/process_metadata/mesh_metadata.json", "[0,1,2,3,4,5]"))
	if c = one(t, see(t, d.fs(), Options{Level: Manifests}), "110"); !c.Complete || c.Elastic || c.WorldSize != 3 {
		t.Errorf("%+v", c)
	}
	d.play(truncated("110/process_metadata/global_process_metadata.json", 4))
	if c = one(t, see(t, d.fs(), Options{Level: Manifests}), "110"); c.Reason != problem.BadJSON {
		t.Errorf("%+v", c)
	}
}

func TestOrbaxFind(t *testing.T) {
	for _, test := range []struct {
		name string
		ops  []op
		want []string
	}{
		{"by steps", slices.Concat(orbaxSave("9"), orbaxSave("10"), orbaxSave("11")[:9]),
			[]string{"11.orbax-checkpoint-tmp 11 in_progress", "10 10 ", "9 9 "}},
		{"temporary names of both kinds alone", []op{mkdir("a_5.orbax-checkpoint-tmp-1700"), mkdir("x.orbax-checkpoint-tmp")},
			[]string{"a_5.orbax-checkpoint-tmp-1700 5 in_progress", "x.orbax-checkpoint-tmp -1 in_progress"}},
		{"an old file \"checkpoint\" is not TensorFlow's", append(orbaxOld("5"), write("5/default/checkpoint", []byte("\x81\xa1w"))),
			[]string{"5 5 "}},
		{"of all steps most are torn", slices.Concat([]op{mkdir("1"), mkdir("3")}, orbaxSave("2")),
			[]string{"3 3 missing_shard", "2 2 ", "1 1 missing_shard"}},
		{"another program's directories beside it", slices.Concat(orbaxSave("ckpt_2"), []op{mkdir("run_7"), mkdir("metadata")}),
			[]string{"ckpt_2 2 "}},
		{"another program's directories", []op{mkdir("1"), writeText("2/x/file", ""), writeText("run_3/metadata", "")}, nil},
	} {
		if got := told(t, test.ops); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestOrbaxUnreadable(t *testing.T) {
	d := newDisk(t)
	d.play(orbaxSave("100")...)
	for _, path := range []string{"_CHECKPOINT_METADATA", "commit_success.txt", "state", "state/manifest.ocdbt", "state/_METADATA",
		"state/ocdbt.process_1/manifest.ocdbt", "state/ocdbt.process_1/d", "state/d/8e66"} {
		fsys := failing{d.fs(), "100/" + path, syscall.ESTALE}
		found, err := Find(t.Context(), d.fs(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := one(t, found.Checkpoints, "100")
		if Check(t.Context(), fsys, c, Options{Level: Manifests}); !c.Reason.Unknown() {
			t.Errorf("%s: %s %s", path, c.Reason, c.Detail)
		}
	}
	if _, err := Find(t.Context(), failing{d.fs(), "100", fs.ErrPermission}, Options{Format: orbax.name}); err == nil {
		t.Error("a step that cannot be read was passed over")
	}
}

// However many directories there are, only some are looked into.
func TestOrbaxFindLooksIntoFew(t *testing.T) {
	d := newDisk(t)
	for i := range 300 {
		d.play(mkdir(strconv.Itoa(i)), mkdir(fmt.Sprintf("p%d_1", i)))
	}
	opened := &countedOpens{FS: d.fs()}
	l := newLook(t.Context(), opened, Options{})
	root, err := l.dir(".")
	if err != nil {
		t.Fatal(err)
	}
	if cs, err := findOrbax(l, root); err != nil || len(cs) != 0 {
		t.Fatal(cs, err)
	}
	if opened.n > 1+3*maxOrbaxPrefixes {
		t.Errorf("%d directories were read", opened.n)
	}
}

type countedOpens struct {
	fs.FS
	n int
}

func (c *countedOpens) Open(name string) (fs.File, error) { c.n++; return c.FS.Open(name) }

func FuzzOrbaxMetadata(f *testing.F) {
	f.Add([]byte(orbaxMetaJSON(true)))
	d := newDisk(f)
	d.play(slices.Concat(orbaxItemOps("3/state"), []op{writeText("3/_CHECKPOINT_METADATA", "")})...)
	f.Fuzz(func(t *testing.T, text []byte) {
		with := fstest.MapFS{"text": {Data: text, ModTime: d.now}}
		c := one(t, see(t, replaced{d.fs(), "3/_CHECKPOINT_METADATA", with}, Options{Level: Manifests}), "3")
		if c.Complete == (c.Reason != "") || strings.Contains(c.Detail, "failed to look") {
			t.Errorf("%+v", c)
		}
	})
}

// replaced is a tree in which one file is another, that of the name "text".
type replaced struct {
	fs.FS
	path string
	with fs.FS
}

func (r replaced) Open(name string) (fs.File, error) {
	if name == r.path {
		return r.with.Open("text")
	}
	return r.FS.Open(name)
}

func (r replaced) Stat(name string) (fs.FileInfo, error) {
	if name == r.path {
		return fs.Stat(r.with, "text")
	}
	return fs.Stat(r.FS, name)
}
