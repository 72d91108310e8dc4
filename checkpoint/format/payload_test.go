package format

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// pickledTensor stands for a tensor in a pickle: a reference to a storage.
type pickledTensor int

// pickled is a dictionary as torch.save pickles it, of keys and values in turn.
func pickled(pairs ...any) []byte {
	var b bytes.Buffer
	b.WriteString("\x80\x02")
	pickleValue(&b, pairs)
	b.WriteByte('.')
	return b.Bytes()
}

// pickledOps are opcodes that leave one value.
type pickledOps string

// pickledCount is a tensor without dimensions that holds a whole number: 0x04030200 and that of its storage.
type pickledCount int

func pickleValue(b *bytes.Buffer, v any) {
	text := func(s string) {
		b.WriteByte('X')
		b.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
		b.WriteString(s)
	}
	switch v := v.(type) {
	case nil:
		b.WriteByte('N')
	case bool:
		b.WriteByte(map[bool]byte{true: 0x88, false: 0x89}[v])
	case int:
		b.WriteByte('J')
		b.Write(binary.LittleEndian.AppendUint32(nil, uint32(v)))
	case string:
		text(v)
	case pickledTensor:
		b.WriteString("(")
		text("storage")
		b.WriteString("ctorch\nFloatStorage\n")
		text(fmt.Sprint(int(v)))
		text("cpu")
		b.WriteString("K\x01tQ")
	case pickledOps:
		b.WriteString(string(v))
	case pickledCount:
		b.WriteString("ctorch._utils\n_rebuild_tensor_v2\n((")
		text("storage")
		b.WriteString("ctorch\nIntStorage\n")
		text(fmt.Sprint(int(v)))
		text("cpu")
		b.WriteString("K\x01tQK\x00))\x89NtR")
	case []any:
		b.WriteString("}q\x01(")
		for i := range v {
			pickleValue(b, v[i])
			if i%2 == 0 {
				b.WriteString("q\x02")
			}
		}
		b.WriteByte('u')
	default:
		panic(fmt.Sprintf("no pickle of %T", v))
	}
}

// torchSaved is a file of torch.save with this pickle and so many storages.
func torchSaved(pickle []byte, storages int) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name string, data []byte) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: "archive/" + name, Method: zip.Store})
		if err != nil {
			panic(err)
		}
		_, _ = w.Write(data)
	}
	add("data.pkl", pickle)
	add("byteorder", []byte("little"))
	for i := range storages {
		add(fmt.Sprintf("data/%d", i), []byte{byte(i), 2, 3, 4})
	}
	add("version", []byte("3\n"))
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// anyTorch is a whole file of torch.save.
func anyTorch() []byte {
	return torchSaved(pickled("weight", pickledTensor(0), "bias", pickledTensor(1)), 2)
}

// torchInterrupted is what a save leaves that an exception has ended: a zip that is whole but for a storage.
func torchInterrupted() []byte {
	return torchSaved(pickled("weight", pickledTensor(0), "bias", pickledTensor(1)), 1)
}

// anySafetensors is a whole file of one tensor.
func anySafetensors() []byte {
	header := `{"weight":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}`
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, 16)...)
}

// weightsIndex names so many shards.
func weightsIndex(shards int) string {
	var names []string
	for i := range shards {
		names = append(names, fmt.Sprintf(`"t%d":"model-%05d-of-%05d.safetensors"`, i, i+1, shards))
	}
	return `{"metadata":{"total_size":16},"weight_map":{` + strings.Join(names, ",") + `}}`
}

// testFile is a file of a framework, kept for tests.
func testFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// distributedSizes are the sizes of the data that belongs to the metadata in testdata/dcp_keys.
var distributedSizes = map[string]int{"full": 42880, "model": 3154, "lightning": 27748, "composer": 30270}

// filler stands for tensors of so many bytes.
func filler[N int | int64](n N) []byte { return bytes.Repeat([]byte{1}, int(n)) }

// distributedSave is a save of torch.distributed.checkpoint by one rank, with the keys of one framework.
func distributedSave(t testing.TB, dir, keys string) []op {
	return []op{
		write(dir+"/__0_0.distcp", filler(distributedSizes[keys])),
		write(dir+"/.metadata.tmp", testFile(t, "dcp_keys/"+keys+".metadata")),
		rename(dir+"/.metadata.tmp", dir+"/.metadata"),
	}
}

// unknownWhenUnreadable wants none of the errors of a file server to mean that something is not there.
func unknownWhenUnreadable(t *testing.T, save []op, format, path string, unreadable ...string) {
	t.Helper()
	for _, name := range unreadable {
		for _, failure := range []error{syscall.EIO, syscall.EACCES, syscall.ESTALE} {
			d := newDisk(t)
			d.play(save...)
			fsys := failing{d.fs(), name, failure}
			found, err := Find(context.Background(), fsys, Options{Format: format, Level: Manifests})
			if err != nil {
				if !problem.Of(err, problem.NoMarker).Reason.Unknown() {
					t.Errorf("%s: %v: finding says %v", name, failure, err)
				}
				continue
			}
			for _, c := range found.Checkpoints {
				Check(context.Background(), fsys, c, Options{Level: Manifests})
			}
			if c := one(t, found.Checkpoints, path); !c.Reason.Unknown() || c.Complete {
				t.Errorf("%s: %v: complete=%v reason %q (%s)", name, failure, c.Complete, c.Reason, c.Detail)
			}
		}
	}
}

func TestMentions(t *testing.T) {
	const at = 256<<10 + 64 // where the first chunk ends
	data := make([]byte, 3*at)
	copy(data[at-3:], "optimizer.")
	fsys := fstest.MapFS{"f": {Data: data}, "empty": {}}
	tests := []struct {
		name       string
		file       string
		limit      int64
		word       string
		found, all bool
	}{
		{"across chunks", "f", 1 << 30, "optimizer.", true, true},
		{"not there", "f", 1 << 30, "scheduler", false, true},
		{"behind the limit", "f", 1000, "optimizer.", false, false},
		{"empty", "empty", 1000, "optimizer.", false, true},
	}
	for _, test := range tests {
		l := newLook(context.Background(), fsys, Options{})
		found, all, err := l.mentions(test.file, test.limit, test.word)
		if err != nil || found != test.found || all != test.all {
			t.Errorf("%s: found=%v all=%v %v", test.name, found, all, err)
		}
	}
}

// closedFiles is a tree whose files can be listed and not opened.
type closedFiles struct{ fs.FS }

func (f closedFiles) Open(name string) (fs.File, error) {
	if info, err := fs.Stat(f.FS, name); err == nil && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("only names are to be looked at")}
	}
	return f.FS.Open(name)
}

func (f closedFiles) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }

// The level of names opens no file.
func TestContainersByNames(t *testing.T) {
	for path, save := range map[string][]op{
		"checkpoint-4":          hfSaveTwo("checkpoint-4", hfArgsOf(2)),
		"checkpoint-5":          hfSaveDeepSpeed("checkpoint-5"),
		"checkpoint_0":          accelerateSave("checkpoint_0"),
		lightningName:           lightningDeepSpeed(),
		nemoName + ".ckpt":      nemoRankFiles(),
		nemoName:                nemoDistributed(t),
		"ep1-ba42-rank0.pt.tar": composerRankTars("ep1-ba42"),
		"step-3":                distributedSave(t, "step-3", "full"),
		"model_100.pt":          {write("model_100.pt", anyTorch())},
	} {
		d := newDisk(t)
		d.play(save...)
		if c := one(t, see(t, closedFiles{d.fs()}, Options{Level: Names}), path); !c.Complete {
			t.Errorf("%s: %s %s", path, c.Reason, c.Detail)
		}
	}
}
