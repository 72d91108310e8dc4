package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// wheel makes the wheel: the program as a script, which pip puts on PATH, and metadata. There is no Python in it
// (https://packaging.python.org/en/latest/specifications/binary-distribution-format/).
func (r release) wheel(a architecture) error {
	program, err := os.ReadFile(filepath.Join(r.stage, "gangrun"))
	if err != nil {
		return err
	}
	licences := map[string][]byte{}
	for _, name := range []string{"LICENSE", "LICENSES.third-party"} {
		if licences[name], err = os.ReadFile(filepath.Join(r.stage, name)); err != nil {
			return err
		}
	}
	name, data, err := Wheel(r.version.Package, a.wheels, program, licences, r.at)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

const summary = "Runs a distributed training job from inside its containers: knows why it died, restarts it together"

const description = `gangrun is one static program; this wheel holds it and no Python.

    gangrun run -- torchrun --standalone --nproc-per-node 8 train.py

It starts the training, tells a failure that is worth a retry from one that will happen again, restarts what is worth it
from the newest complete checkpoint, and leaves an exit code by which an operator decides.
`

// Wheel is a wheel's name and bytes: equal for equal arguments. tags are its platform tags, joined by dots.
func Wheel(version, tags string, program []byte, licences map[string][]byte, at time.Time) (name string, data []byte, err error) {
	info := fmt.Sprintf("gangrun-%s.dist-info/", version)
	type file struct {
		path string
		data []byte
		mode os.FileMode
	}
	wheel := "Wheel-Version: 1.0\nGenerator: gangrun\nRoot-Is-Purelib: false\n"
	for _, tag := range bytes.Split([]byte(tags), []byte(".")) {
		wheel += fmt.Sprintf("Tag: py3-none-%s\n", tag)
	}
	metadata := fmt.Sprintf("Metadata-Version: 2.1\nName: gangrun\nVersion: %s\nSummary: %s\nHome-page: https://github.com/gangrun/gangrun\n"+
		"License: Apache-2.0\nClassifier: License :: OSI Approved :: Apache Software License\n"+
		"Classifier: Operating System :: POSIX :: Linux\nClassifier: Topic :: System :: Distributed Computing\n"+
		"Requires-Python: >=3.7\nDescription-Content-Type: text/markdown\n\n%s", version, summary, description)
	files := []file{
		{fmt.Sprintf("gangrun-%s.data/scripts/gangrun", version), program, 0o755},
		{info + "METADATA", []byte(metadata), 0o644},
		{info + "WHEEL", []byte(wheel), 0o644},
		{info + "LICENSE", licences["LICENSE"], 0o644},
		{info + "LICENSES.third-party", licences["LICENSES.third-party"], 0o644},
	}
	var record bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.path, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	files = append(files, file{info + "RECORD", record.Bytes(), 0o644})

	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		entry, err := w.CreateHeader(h)
		if err != nil {
			return "", nil, err
		}
		if _, err := entry.Write(f.data); err != nil {
			return "", nil, err
		}
	}
	if err := w.Close(); err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("gangrun-%s-py3-none-%s.whl", version, tags), b.Bytes(), nil
}
