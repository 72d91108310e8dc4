package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
)

// BenchmarkScan looks at a directory of 100 checkpoints of 1,024 files each: for the first time, and again when nothing
// has changed. "go run ./test/bench -only checkpoints" measures the same beside find.
func BenchmarkScan(b *testing.B) {
	const checkpoints, files = 100, 1024
	for _, tree := range []struct {
		name string
		save func(b *testing.B, root string, step, files int)
	}{
		{"dcp", saveDCP},
		{"deepspeed", saveDeepSpeed},
	} {
		b.Run(tree.name, func(b *testing.B) {
			root := b.TempDir()
			for step := range checkpoints {
				tree.save(b, root, step+1, files)
			}
			scan := func(b *testing.B, s *Scanner) {
				found, err := s.Scan(context.Background())
				if err != nil || found.Format != tree.name || len(found.Checkpoints) != most ||
					found.Checkpoints[0].Step != checkpoints || !found.Checkpoints[0].Complete {
					b.Fatalf("%d checkpoints of %q, error %v: %s", len(found.Checkpoints), found.Format, err,
						paths(found.Checkpoints[:min(1, len(found.Checkpoints))]))
				}
			}
			scan(b, &Scanner{FS: os.DirFS(root)}) // the kernel knows them all now
			b.Run("first", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					scan(b, &Scanner{FS: os.DirFS(root)})
				}
			})
			b.Run("again", func(b *testing.B) {
				s := &Scanner{FS: os.DirFS(root)}
				scan(b, s)
				b.ReportAllocs()
				for b.Loop() {
					scan(b, s)
				}
			})
		})
	}
}

func writeFile(b *testing.B, name string, data []byte) {
	b.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		b.Fatal(err)
	}
}

// saveDCP writes what torch.distributed.checkpoint does: shards, and then .metadata that names them.
func saveDCP(b *testing.B, root string, step, files int) {
	dir := filepath.Join(root, fmt.Sprintf("save-%d", step))
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	names := make([]string, files-1)
	sizes := make([]int64, len(names))
	for i := range names {
		names[i], sizes[i] = fmt.Sprintf("__%d_0.distcp", i), 64
		writeFile(b, filepath.Join(dir, names[i]), bytes.Repeat([]byte{1}, int(sizes[i])))
	}
	writeFile(b, filepath.Join(dir, ".metadata"), filetest.DCPMetadata(names, sizes))
}

// saveDeepSpeed writes what DeepSpeed does with ZeRO: the model, and a share of the optimizer's state for each rank.
func saveDeepSpeed(b *testing.B, root string, step, files int) {
	dir := filepath.Join(root, fmt.Sprintf("global_step%d", step))
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	share := filetest.Torch(make([]byte, 8))
	for rank := range files - 1 {
		writeFile(b, filepath.Join(dir, fmt.Sprintf("zero_pp_rank_%d_mp_rank_00_optim_states.pt", rank)), share)
	}
	ranks := string([]byte{'M', byte(files - 1), byte((files - 1) >> 8)}) // BININT2
	state := filetest.NewPickle(2).Op("}(").Text("dp_world_size").Op(ranks).Text("mp_world_size").Op("K\x01u").Stop()
	model := filetest.Zip(filetest.Record{Name: "archive/data.pkl", Data: state})
	writeFile(b, filepath.Join(dir, "mp_rank_00_model_states.pt"), model)
	writeFile(b, filepath.Join(root, "latest"), []byte(filepath.Base(dir)))
}
