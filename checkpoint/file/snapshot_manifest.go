package file

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"

	"go.yaml.in/yaml/v3"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Snapshot is what the file .snapshot_metadata of TorchSnapshot says, by torchsnapshot/manifest.py.
type Snapshot struct {
	WorldSize int
	// Files are the paths of all files, relative to the snapshot and not checked, and what has to be in them.
	Files map[string]SnapshotFile
	// Alone says that something belongs to one rank, so that only as many ranks as there were can go on from it.
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
	// maxSnapshotFiles bounds the memory.
	maxSnapshotFiles = 1 << 20
	maxSnapshotEntry = 8 << 20
)

// snapshotEntry is one value of the manifest, or the tensor of a shard.
type snapshotEntry struct {
	Type       string          `json:"type" yaml:"type"`
	Location   string          `json:"location" yaml:"location"`
	Serializer string          `json:"serializer" yaml:"serializer"`
	Dtype      string          `json:"dtype" yaml:"dtype"`
	Shape      []int64         `json:"shape" yaml:"shape"`
	Range      []int64         `json:"byte_range" yaml:"byte_range"`
	Replicated bool            `json:"replicated" yaml:"replicated"`
	Shards     []snapshotShard `json:"shards" yaml:"shards"`
	Chunks     []snapshotShard `json:"chunks" yaml:"chunks"`
}

type snapshotShard struct {
	Tensor snapshotEntry `json:"tensor" yaml:"tensor"`
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
	source := &remember{r: io.NewSectionReader(r, 0, size)}
	b := bufio.NewReaderSize(source, 64<<10)
	first, err := b.Peek(1)
	if err == nil {
		if first[0] == '{' {
			err = s.json(&limited{b, 0, maxSnapshotEntry})
		} else {
			err = s.yaml(b, size)
		}
	}
	if source.err != nil {
		return nil, source.err
	}
	if e, ok := errors.AsType[*problem.Error](err); ok {
		return nil, e
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, problem.New(problem.Truncated, "it ends early")
	}
	if err != nil {
		return nil, problem.New(problem.BadJSON, "%v", err)
	}
	if s.WorldSize < 1 || s.WorldSize > math.MaxInt32 {
		return nil, problem.New(problem.BadJSON, "it has a world_size of %d", s.WorldSize)
	}
	return s, nil
}

// json reads the file piece by piece.
func (s *Snapshot) json(source *limited) error {
	d := json.NewDecoder(source)
	err := object(d, source, func(key string) error {
		switch key {
		case "world_size":
			return d.Decode(&s.WorldSize)
		case "manifest":
			return object(d, source, func(string) error {
				var e snapshotEntry
				if err := d.Decode(&e); err != nil {
					return err
				}
				return s.add(e)
			})
		}
		var other json.RawMessage
		return d.Decode(&other)
	})
	if err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the object")
	}
	return nil
}

// object reads an object and calls value where the value of each key begins.
func object(d *json.Decoder, source *limited, value func(key string) error) error {
	if token, err := d.Token(); err != nil {
		return err
	} else if token != json.Delim('{') {
		return errors.New("an object expected")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		source.used = 0
		if err := value(key.(string)); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// yaml reads the file as a whole.
func (s *Snapshot) yaml(r io.Reader, size int64) error {
	if size > maxSnapshotYAML {
		return problem.New(problem.BadJSON, "it has %d bytes of YAML, at most %d expected", size, maxSnapshotYAML)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	var all struct {
		WorldSize int                      `yaml:"world_size"`
		Manifest  map[string]snapshotEntry `yaml:"manifest"`
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		return err
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

// limited ends what takes too much at once.
type limited struct {
	r         io.Reader
	used, max int
}

func (l *limited) Read(b []byte) (int, error) {
	if l.used > l.max {
		return 0, errors.New("one value is too long")
	}
	n, err := l.r.Read(b)
	l.used += n
	return n, err
}

// remember tells an error of reading from one of what is read.
type remember struct {
	r   io.Reader
	err error
}

func (m *remember) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	if err != nil && err != io.EOF {
		m.err = err
	}
	return n, err
}
