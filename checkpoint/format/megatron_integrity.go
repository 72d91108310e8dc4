package format

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// megatronIntegrity has the SHA-256 of every other file, with --verify-integrity. Its form is that of
// megatron/core/dist_checkpointing/validation.py.
const megatronIntegrity = "integrity.json"

// checkMegatronIntegrity wants the files to be there that the hashes are of, and compares the hashes at the level
// Everything.
func (l *look) checkMegatronIntegrity(c *Checkpoint, d *dir) error {
	if l.Level < Manifests {
		return nil
	}
	name := d.join(megatronIntegrity)
	data, err := l.small(name, 0)
	if err != nil {
		return err
	}
	var manifest struct {
		Algorithm string            `json:"algorithm"`
		Files     map[string]string `json:"files"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return problem.New(problem.BadJSON, "%s: %v", name, err)
	}
	if a := manifest.Algorithm; a != "" && a != "sha256" {
		return problem.New(problem.UnknownFormat, "%s: hashes by %.32q, sha256 expected", name, a)
	}
	files := slices.Sorted(maps.Keys(manifest.Files))
	for _, file := range files {
		if !under(file) {
			return problem.New(problem.BadJSON, "%s names %.64q, outside of the checkpoint", name, file)
		}
	}
	return l.each(files, func(file string) error {
		path := d.join(file)
		if l.Level < Everything {
			_, err := l.stat(path)
			return missingOf(err, path, name)
		}
		got, err := l.sha256(path)
		if err != nil {
			return missingOf(err, path, name)
		}
		if want := manifest.Files[file]; !strings.EqualFold(got, want) {
			return problem.New(problem.HashMismatch, "%s has the SHA-256 %s, %.64q expected by %s", path, got, want, name)
		}
		return nil
	})
}

func missingOf(err error, path, manifest string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return problem.New(problem.MissingShard, "%s is missing, which %s names", path, manifest)
	}
	return err
}

// sha256 reads a whole file.
func (l *look) sha256(path string) (string, error) {
	f, err := l.open(path)
	if err != nil {
		return "", err
	}
	defer f.close()
	hash, buffer := sha256.New(), make([]byte, 1<<20)
	for from := int64(0); from < f.size; {
		if err := l.ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.ReadAt(buffer[:min(int64(len(buffer)), f.size-from)], from)
		if n == 0 {
			if err == nil || err == io.EOF {
				return "", problem.New(problem.Truncated, "%s ends at byte %d of %d", path, from, f.size)
			}
			return "", err
		}
		hash.Write(buffer[:n])
		from += int64(n)
		if l.Read != nil {
			l.Read(n)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
