package main

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
)

// content is what is in the archive, beside the program.
var content = []string{"LICENSE", "LICENSES.third-party", "CHANGELOG.md", "gangrun.bash", "gangrun.fish"}

// archive makes the tar.gz, with everything in one directory.
func (r release) archive(a architecture) error {
	name := fmt.Sprintf("gangrun-%s-linux-%s", r.version.Package, a.name)
	file, err := os.Create(filepath.Join(r.out, name+".tar.gz"))
	if err != nil {
		return err
	}
	defer file.Close()
	zip, err := gzip.NewWriterLevel(file, gzip.BestCompression) // no name, no time
	if err != nil {
		return err
	}
	w := tar.NewWriter(zip)
	for _, entry := range append([]string{"gangrun"}, content...) {
		data, err := os.ReadFile(filepath.Join(r.stage, entry))
		if err != nil {
			return err
		}
		h := &tar.Header{
			Name: name + "/" + entry, Mode: 0o644, Size: int64(len(data)), ModTime: r.at, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if entry == "gangrun" {
			h.Mode = 0o755
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return file.Close()
}
