package checkpoint

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/internal/shared"
)

// tree is a directory with checkpoints of no known format: step-N with weights in them, and DONE, which is written last.
type tree struct {
	t   testing.TB
	dir string
	now time.Time
}

func newTree(t testing.TB, steps ...string) *tree {
	tr := &tree{t, t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, s := range steps {
		tr.save(s)
	}
	return tr
}

// options describe them.
func options() format.Options {
	return format.Options{Rule: &format.Rule{Glob: "step-*", Step: regexp.MustCompile(`^step-(\d+)$`), Marker: "DONE"}}
}

func (tr *tree) scanner() *Scanner { return &Scanner{FS: os.DirFS(tr.dir), Options: options()} }

// put writes a file, a minute after the last one.
func (tr *tree) put(name string, data []byte) {
	tr.t.Helper()
	tr.now = tr.now.Add(time.Minute)
	p := filepath.Join(tr.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, data, 0o644), os.Chtimes(p, tr.now, tr.now)); err != nil {
		tr.t.Fatal(err)
	}
}

// save writes a whole checkpoint; "step-3!" is one without its marker, and "step-3?" one that only a close look finds
// to be torn.
func (tr *tree) save(name string) {
	tr.t.Helper()
	name, noMarker := strings.CutSuffix(name, "!")
	name, short := strings.CutSuffix(name, "?")
	data := weights()
	if short {
		data = data[:len(data)-1]
	}
	tr.put(name+"/w.safetensors", data)
	if !noMarker {
		tr.put(name+"/DONE", []byte("1"))
	}
}

func (tr *tree) remove(name string) {
	tr.t.Helper()
	if err := os.RemoveAll(filepath.Join(tr.dir, filepath.FromSlash(name))); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) read(name string) string {
	tr.t.Helper()
	data, err := os.ReadFile(filepath.Join(tr.dir, filepath.FromSlash(name)))
	if err != nil {
		tr.t.Fatal(err)
	}
	return string(data)
}

func (tr *tree) has(name string) bool {
	_, err := os.Lstat(filepath.Join(tr.dir, filepath.FromSlash(name)))
	return err == nil
}

// weights is a whole safetensors file.
func weights() []byte {
	header := `{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), make([]byte, 8)...)
}

// directory makes one over the tree, and what it logs.
func (tr *tree) directory() (*Directory, *logged) {
	log := new(logged)
	return &Directory{Name: tr.dir, Path: tr.dir, Scanner: *tr.scanner(), Log: slog.New(slog.NewJSONHandler(log, nil))}, log
}

// logged is what was logged, as lines of JSON.
type logged struct{ shared.Buffer }

func (l *logged) count(part string) int { return strings.Count(l.String(), part) }

// watched is a tree that counts what is opened, and in which some paths cannot be read.
type watched struct {
	fs.FS
	mu     sync.Mutex
	opened map[string]int
	fails  map[string]error // when they are opened or asked about
	unread map[string]error // when they are opened
}

func watch(fsys fs.FS) *watched {
	return &watched{FS: fsys, opened: map[string]int{}, fails: map[string]error{}, unread: map[string]error{}}
}

func (w *watched) Open(name string) (fs.File, error) {
	w.mu.Lock()
	w.opened[name]++
	err := cmp.Or(w.fails[name], w.unread[name])
	w.mu.Unlock()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return w.FS.Open(name)
}

func (w *watched) Stat(name string) (fs.FileInfo, error) {
	w.mu.Lock()
	err := w.fails[name]
	w.mu.Unlock()
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return fs.Stat(w.FS, name)
}

// takeOpened is how often the weights of each checkpoint were opened since it was last asked.
func (w *watched) takeOpened() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	weights := map[string]int{}
	for name, n := range w.opened {
		if dir, found := strings.CutSuffix(name, "/w.safetensors"); found {
			weights[dir] = n
		}
	}
	clear(w.opened)
	return weights
}

func step(n int64) *int64 { return &n }

func asJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// paths lists checkpoints, with the reason of those that are not complete.
func paths(cs []format.Checkpoint) string {
	var list []string
	for _, c := range cs {
		s := c.Path
		if c.Reason != "" {
			s += " " + string(c.Reason)
		}
		list = append(list, s)
	}
	return strings.Join(list, ", ")
}
