package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// library is a process that has loaded a real library, and saves and loads with it.
type library struct {
	t       *testing.T
	in      io.Writer
	answers *json.Decoder
	expired *time.Timer

	mu   sync.Mutex
	said bytes.Buffer // standard error
}

// loadLibrary starts one. python is the interpreter as harness.Peer takes it.
func loadLibrary(t *testing.T, python, module string) *library {
	t.Helper()
	script, err := filepath.Abs("testdata/server.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(harness.Peer(t, python), script, module)
	dir := t.TempDir()
	cmd.Dir = dir
	// Threads of the libraries would only wait for each other; a kill is as well with one.
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1", harness.Mark(dir))
	if strings.HasPrefix(python, "torch/") {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+harness.Peer(t, "savers"))
	}
	l := &library{t: t}
	cmd.Stderr = l
	if l.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.answers = json.NewDecoder(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l.expired = time.AfterFunc(limit, func() { harness.KillLeftovers(dir) })
	t.Cleanup(func() {
		l.expired.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		harness.KillLeftovers(dir)
	})
	var hello struct {
		Missing  string
		Versions map[string]string
	}
	l.answer(&hello)
	if hello.Missing != "" {
		harness.Missing(t, module+" ("+hello.Missing+")", "make peers")
	}
	t.Log(hello.Versions)
	return l
}

// Write takes what the process says on standard error.
func (l *library) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.Write(b)
}

func (l *library) answer(into any) {
	l.t.Helper()
	l.expired.Reset(limit)
	if err := l.answers.Decode(into); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.t.Fatalf("no answer: %v\n%s", err, l.said.Bytes())
	}
}

func (l *library) ask(request, into any) {
	l.t.Helper()
	if err := json.NewEncoder(l.in).Encode(request); err != nil {
		l.t.Fatal(err)
	}
	l.answer(into)
}

// attack is one process that saves and is killed.
type attack struct {
	Do        string  `json:"do"`
	Format    string  `json:"format"`
	Directory string  `json:"folder"`
	InPlace   bool    `json:"in_place"`
	By        string  `json:"by"` // clock, end of a save, or operation: just before a file is opened, renamed or removed
	At        float64 `json:"at"` // how far into a save, from 0 to 1
}

// event is a line in the journal of a process that saves.
type event struct {
	Begin, End int // a generation
	Path       string
	Failed     string
}

// kill lets the library save, kills it, and returns what it had done.
func (l *library) kill(a attack) []event {
	l.t.Helper()
	a.Do = "kill"
	var answer struct {
		Journal []event
		Late    bool
	}
	l.ask(a, &answer)
	if last := len(answer.Journal) - 1; answer.Late || last < 0 || answer.Journal[last].Failed != "" {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.t.Fatalf("%+v: it did not save: %+v\n%s", a, answer, l.said.Bytes())
	}
	return answer.Journal
}

// loaded is what came of loading a checkpoint.
type loaded struct {
	Generation int
	Error      string
}

// load loads checkpoints.
func (l *library) load(format string, paths []string) []loaded {
	l.t.Helper()
	var answer struct{ Results []loaded }
	l.ask(map[string]any{"do": "load", "format": format, "paths": paths}, &answer)
	if len(answer.Results) != len(paths) {
		l.t.Fatalf("%d answers for %q", len(answer.Results), paths)
	}
	return answer.Results
}
