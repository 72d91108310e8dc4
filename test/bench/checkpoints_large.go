package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/format"
)

// largeCheckpoints looks closely at checkpoints of 10 GB, which are holes for the most part.
func (l *lab) largeCheckpoints() error {
	const size = 10e9
	times := &table{title: "a close look at a checkpoint of 10 GB, ms"}
	memory := &table{title: "what is allocated for that in all, KiB"}
	for _, large := range []struct {
		name string
		save func(dir string, size int64) error
	}{
		{"8 safetensors files with an index", saveSafetensors},
		{"1 torch file", saveTorch},
	} {
		dir := filepath.Join(l.dir, "large")
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := large.save(dir, size); err != nil {
			return fmt.Errorf("%s: %w", large.name, err)
		}
		took, allocated := times.add(large.name), memory.add(large.name)
		for range l.times(10, 2) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c, err := ofSelf(func() error { return lookClosely(l.ctx, os.DirFS(dir), size) })
			runtime.ReadMemStats(&after)
			if err != nil {
				return fmt.Errorf("%s: %w", large.name, err)
			}
			took.values = append(took.values, c.wall)
			allocated.values = append(allocated.values, float64(after.TotalAlloc-before.TotalAlloc)/1024)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	times.print()
	memory.print()
	return nil
}

func lookClosely(ctx context.Context, fsys fs.FS, size int64) error {
	o := format.Options{Level: format.Manifests}
	found, err := format.Find(ctx, fsys, o)
	if err != nil {
		return err
	}
	if len(found.Checkpoints) != 1 {
		return fmt.Errorf("%d checkpoints of the format %q, 1 expected", len(found.Checkpoints), found.Format)
	}
	c := found.Checkpoints[0]
	format.Check(ctx, fsys, c, o)
	if !c.Complete || c.Size < size {
		return fmt.Errorf("%s, %d bytes: %s %s", c.Path, c.Size, c.Reason, c.Detail)
	}
	return nil
}

// saveSafetensors writes a model in 8 shards of 100 tensors.
func saveSafetensors(dir string, size int64) error {
	const shards, tensors = 8, 100
	each := size / shards / tensors
	var names []string
	for i := range shards {
		header := bytes.NewBufferString("{")
		for t := range int64(tensors) {
			fmt.Fprintf(header, `"layers.%d.weight":{"dtype":"U8","shape":[%d],"data_offsets":[%d,%d]},`, t, each,
				t*each, (t+1)*each)
		}
		header.Truncate(header.Len() - 1)
		header.WriteString("}")
		data := append(binary.LittleEndian.AppendUint64(nil, uint64(header.Len())), header.Bytes()...)
		name := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, shards)
		names = append(names, name)
		err := os.WriteFile(filepath.Join(dir, name), data, 0o644)
		if err = errors.Join(err, os.Truncate(filepath.Join(dir, name), int64(len(data))+each*tensors)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), filetest.WeightIndex(names...), 0o644)
}

// saveTorch writes a file of torch.save with one storage.
func saveTorch(dir string, size int64) error {
	f, err := os.Create(filepath.Join(dir, "step_1000.pt"))
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(holes{f})
	const storage = "archive/data/0"
	for _, r := range filetest.TorchRecords("archive", make([]byte, 8)) {
		length := int64(len(r.Data))
		if r.Name == storage {
			length = size
		}
		w, err := z.CreateRaw(&zip.FileHeader{
			Name: r.Name, CompressedSize64: uint64(length), UncompressedSize64: uint64(length),
		})
		if err == nil && r.Name == storage {
			err = writeZeros(w, size)
		} else if err == nil {
			_, err = w.Write(r.Data)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

func writeZeros(w io.Writer, n int64) (err error) {
	piece := make([]byte, 64*hole)
	for ; n > 0 && err == nil; n -= int64(len(piece)) {
		_, err = w.Write(piece[:min(n, int64(len(piece)))])
	}
	return err
}

// holes leaves out what is long: it is zero.
type holes struct{ f *os.File }

func (h holes) Write(p []byte) (int, error) {
	if len(p) < hole {
		return h.f.Write(p)
	}
	_, err := h.f.Seek(int64(len(p)), io.SeekCurrent)
	return len(p), err
}

const hole = 1 << 20
