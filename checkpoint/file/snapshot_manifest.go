package file

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Snapshot is what the file .snapshot_metadata of TorchSnapshot says, by torchsnapshot/manifest.py.
type Snapshot struct {
	WorldSize int
	// Files are the paths of all files, relative to the snapshot and not checked, and what has to be in them.
	Files map[string]SnapshotFile
	// Alone says that something belongs to one rank, so that only as many ranks as there were can resume from it.
	Alone bool
}

// SnapshotFile is what one file of a snapshot holds.
type SnapshotFile struct {
	// Size is how many bytes there are at least, exactly when Whole is set.
	Size  int64
	Whole bool
	// Saved says that torch.save wrote the file.
	Saved bool
}

const (
	// maxSnapshot bounds the file, which has some hundred bytes for each tensor of each rank, and maxSnapshotYAML the form
	// before version 0.1, which cannot be read piece by piece.
	maxSnapshot     = 1 << 30
	maxSnapshotYAML = 16 << 20
	// maxSnapshotFiles and maxSnapshotNumbers, those of a shape or of a range, bound the memory.
	maxSnapshotFiles   = 1 << 20
	maxSnapshotNumbers = 64
)

// snapshotEntry is one value of the manifest, or the tensor of a shard.
type snapshotEntry struct {
	Type       string          `yaml:"type"`
	Location   string          `yaml:"location"`
	Serializer string          `yaml:"serializer"`
	Dtype      string          `yaml:"dtype"`
	Shape      []int64         `yaml:"shape"`
	Range      []int64         `yaml:"byte_range"`
	Replicated bool            `yaml:"replicated"`
	Shards     []snapshotShard `yaml:"shards"`
	Chunks     []snapshotShard `yaml:"chunks"`
}

type snapshotShard struct {
	Tensor snapshotEntry `yaml:"tensor"`
}

// snapshotSizes are the bytes of one element.
var snapshotSizes = map[string]int64{
	"torch.float64": 8, "torch.float32": 4, "torch.float16": 2, "torch.bfloat16": 2, "torch.complex128": 16,
	"torch.complex64": 8, "torch.int64": 8, "torch.int32": 4, "torch.int16": 2, "torch.int8": 1, "torch.uint8": 1,
	"torch.bool": 1,
}

// SnapshotEnds looks at both ends of the file, which is written in place. That of a version before 0.1, in YAML, has no end
// that can be told.
func SnapshotEnds(r io.ReaderAt, size int64) error {
	if size == 0 {
		return problem.New(problem.EmptyFile, "it is empty")
	}
	var first [1]byte
	if err := readAt(r, first[:], 0); err != nil {
		return err
	}
	if first[0] != '{' {
		return nil
	}
	tail := make([]byte, min(size, 64))
	if err := readAt(r, tail, size-int64(len(tail))); err != nil {
		return err
	}
	if tail = bytes.TrimRight(tail, " \r\n\t"); len(tail) == 0 || tail[len(tail)-1] != '}' {
		return problem.New(problem.Truncated, "it does not end in a brace")
	}
	return nil
}

// ReadSnapshot reads the file.
func ReadSnapshot(r io.ReaderAt, size int64) (*Snapshot, error) {
	if err := SnapshotEnds(r, size); err != nil {
		return nil, err
	}
	if size > maxSnapshot {
		return nil, problem.New(problem.BadJSON, "it has %d bytes, at most %d expected", size, maxSnapshot)
	}
	s := &Snapshot{Files: map[string]SnapshotFile{}}
	var first [1]byte
	err := readAt(r, first[:], 0)
	switch {
	case err != nil:
	case first[0] == '{':
		err = s.json(&scanner{w: newWindow(r, 0, size)})
	default:
		err = s.yaml(r, size)
	}
	if err != nil {
		return nil, err
	}
	if s.WorldSize < 1 || s.WorldSize > math.MaxInt32 {
		return nil, problem.New(problem.BadJSON, "it has a world_size of %d", s.WorldSize)
	}
	return s, nil
}

// json reads the file piece by piece.
func (s *Snapshot) json(in *scanner) error {
	err := in.object(func(key string, _ bool) (err error) {
		switch key {
		case "world_size":
			var n int64
			n, err = in.number()
			s.WorldSize = int(min(n, math.MaxInt32+1))
			return err
		case "manifest":
			return in.object(func(string, bool) error {
				e, err := snapshotValue(in)
				if err != nil {
					return err
				}
				return s.add(e)
			})
		}
		return in.skip()
	})
	if err == nil {
		err = in.end()
	}
	switch {
	case err == errShort:
		return problem.New(problem.Truncated, "it ends early")
	case errors.Is(err, errJSON):
		return problem.New(problem.BadJSON, "it is %v", err)
	}
	return err
}

// snapshotValue reads one value of the manifest, or a tensor in it.
func snapshotValue(in *scanner) (e snapshotEntry, err error) {
	texts := map[string]*string{"type": &e.Type, "location": &e.Location, "serializer": &e.Serializer, "dtype": &e.Dtype}
	err = in.object(func(key string, _ bool) error {
		switch c := in.next(); {
		case c == '"' && texts[key] != nil:
			text, whole, err := in.string()
			if err == nil && !whole {
				err = problem.New(problem.BadJSON, "a %s of more than %d bytes", key, maxText)
			}
			*texts[key] = strings.Clone(text)
			return err
		case c == '[' && key == "shape":
			return snapshotNumbers(in, &e.Shape)
		case c == '[' && key == "byte_range":
			return snapshotNumbers(in, &e.Range)
		case c == '[' && (key == "shards" || key == "chunks"):
			return in.array(func() error {
				return in.object(func(key string, _ bool) error {
					if key != "tensor" {
						return in.skip()
					}
					tensor, err := snapshotValue(in)
					e.Shards = append(e.Shards, snapshotShard{tensor})
					if len(e.Shards) > maxSnapshotFiles {
						return problem.New(problem.BadJSON, "a value in more than %d parts", maxSnapshotFiles)
					}
					return err
				})
			})
		case key == "replicated":
			e.Replicated = c == 't'
		}
		return in.skip()
	})
	return e, err
}

// snapshotNumbers reads a few whole numbers.
func snapshotNumbers(in *scanner, into *[]int64) error {
	return in.array(func() error {
		n, err := in.number()
		if err == nil && len(*into) == maxSnapshotNumbers {
			err = problem.New(problem.BadJSON, "more than %d numbers", maxSnapshotNumbers)
		}
		*into = append(*into, n)
		return err
	})
}

// yaml reads the file as a whole.
func (s *Snapshot) yaml(r io.ReaderAt, size int64) error {
	if size > maxSnapshotYAML {
		return problem.New(problem.BadJSON, "it has %d bytes of YAML, at most %d expected", size, maxSnapshotYAML)
	}
	text := make([]byte, size)
	if err := readAt(r, text, 0); err != nil {
		return err
	}
	var all struct {
		WorldSize int                      `yaml:"world_size"`
		Manifest  map[string]snapshotEntry `yaml:"manifest"`
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		return problem.New(problem.BadJSON, "%v", err)
	}
	s.WorldSize = all.WorldSize
	for _, e := range all.Manifest {
		if err := s.add(e); err != nil {
			return err
		}
	}
	return nil
}

// add takes one value of the manifest.
func (s *Snapshot) add(e snapshotEntry) error {
	switch e.Type {
	case "list", "dict", "OrderedDict":
		return nil
	case "ShardedTensor":
		e.Replicated = true // in so far as any rank can read it
	}
	if !e.Replicated {
		s.Alone = true
	}
	for _, shards := range [][]snapshotShard{e.Shards, e.Chunks} {
		for _, shard := range shards {
			if err := s.file(shard.Tensor); err != nil {
				return err
			}
		}
	}
	return s.file(e)
}

// file takes what one tensor or object is in. Several may be in the same file.
func (s *Snapshot) file(e snapshotEntry) error {
	if e.Location == "" {
		return nil // a number or the like, which is in the manifest
	}
	f, found := s.Files[e.Location]
	if !found && len(s.Files) == maxSnapshotFiles {
		return problem.New(problem.BadJSON, "it names more than %d files", maxSnapshotFiles)
	}
	switch n := len(e.Range); {
	case n == 2 && e.Range[0] >= 0 && e.Range[0] <= e.Range[1]:
		f.Size = max(f.Size, e.Range[1])
	case n != 0:
		return problem.New(problem.BadJSON, "%.64q has the bytes %v", e.Location, e.Range)
	case e.Serializer == "torch_save":
		f.Saved = true
	case e.Serializer == "buffer_protocol" && snapshotSizes[e.Dtype] > 0:
		size := snapshotSizes[e.Dtype]
		for _, n := range e.Shape {
			if n < 0 || n > 0 && size > math.MaxInt64/n {
				return problem.New(problem.BadJSON, "%.64q has the shape %v", e.Location, e.Shape)
			}
			size *= n
		}
		f.Size, f.Whole = size, true
	}
	s.Files[e.Location] = f
	return nil
}
