package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// size shows how large each program is on disk. torchrun is a script: what counts is the Python environment that it
// cannot do without, which a training image may have for its own sake.
func (l *lab) size() error {
	t := &table{title: "on disk, MiB", peers: []string{"tini"}}
	for _, p := range l.inits() {
		info, err := os.Stat(p.argv[0])
		if err != nil {
			return err
		}
		t.add(p.name).values = []float64{mebibytes(info.Size())}
	}
	if path := l.peers[torchrunName]; path != "" {
		torch, err := torchPackage(path)
		if err != nil {
			return fmt.Errorf("torchrun: %w", err)
		}
		total, err := treeSize(torch)
		if err != nil {
			return fmt.Errorf("torchrun: %w", err)
		}
		t.add("torchrun's torch").values = []float64{mebibytes(total)}
	}
	t.print()
	return nil
}

// torchPackage is the directory of the Python package that torchrun comes from.
func torchPackage(torchrun string) (string, error) {
	python := filepath.Join(filepath.Dir(torchrun), "python3")
	found, err := exec.Command(python, "-c", `import importlib.util; print(importlib.util.find_spec("torch").submodule_search_locations[0])`).Output()
	return strings.TrimSpace(string(found)), err
}

func treeSize(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
