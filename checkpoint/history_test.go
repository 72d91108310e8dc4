package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
)

func TestHistoryParse(t *testing.T) {
	many := func(n int) string {
		return `{"v":1,"aside":[` + strings.TrimSuffix(strings.Repeat(`{"path":"p","modified":"2026-01-02T03:04:05Z"},`, n), ",") + `]}`
	}
	for _, tt := range []struct {
		text, want string // want is a part of the error
	}{
		{`{"v":1}`, ""},
		{`{"v":1,"job":"j","runUid":"u","reached":5,"aside":[{"path":"step-6","modified":"2026-01-02T03:04:05.123456789Z"}]}`, ""},
		{`{"v":1,"later":"key"}`, ""},
		{many(maxAside), ""},
		{``, "JSON"},
		{`{"v":1`, "JSON"},
		{`[]`, "array"},
		{`{}`, "version 0, and this gangrun knows 1"},
		{`null`, "version 0"},
		{`{"v":2,"reached":5}`, "version 2, and this gangrun knows 1"},
		{`{"v":1,"reached":-1}`, "step -1"},
		{`{"v":1,"reached":1.5}`, "1.5"},
		{`{"v":1,"aside":[{"modified":"yesterday"}]}`, "yesterday"},
		{many(maxAside + 1), "more than"},
		{"{\"v\":1}" + strings.Repeat(" ", maxMemory), "larger than"},
	} {
		m, err := ReadHistory(fstest.MapFS{HistoryFile: {Data: []byte(tt.text)}})
		text := fmt.Sprintf("%.80s", tt.text)
		if tt.want == "" && (err != nil || m.V != 1) {
			t.Errorf("%s: %+v, %v", text, m, err)
		}
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), HistoryFile)) {
			t.Errorf("%s: %+v, %v, want an error with %q", text, m, err, tt.want)
		}
	}
}

// TestHistoryUnreadable is not the same as none.
func TestHistoryUnreadable(t *testing.T) {
	if m, err := ReadHistory(fstest.MapFS{}); err != nil || !sameHistory(m, History{}) {
		t.Errorf("%+v, %v", m, err)
	}
	w := watch(fstest.MapFS{HistoryFile: {Data: []byte(`{"v":1}`)}})
	w.fails[HistoryFile] = syscall.EIO
	if _, err := ReadHistory(w); !errors.Is(err, syscall.EIO) {
		t.Errorf("%v", err)
	}
	if _, err := ReadHistory(fstest.MapFS{HistoryFile + "/x": {}}); err == nil {
		t.Error("a directory is read as a memory")
	}
}

// TestHistoryWrite leaves nothing but the file, which a reader at any moment finds whole, and keeps its mode.
func TestHistoryWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, HistoryFile)
	var writers sync.WaitGroup
	for n := range 4 { // nodes that share the directory
		writers.Go(func() {
			for i := range 25 {
				m := History{Run: Run{"job", fmt.Sprint("run", n)}, Reached: step(int64(i))}
				m.Aside = make([]Aside, i)
				if err := m.write(dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if m, err := ReadHistory(os.DirFS(dir)); err != nil || m.V != 0 && len(m.Aside) != int(*m.Reached) {
				t.Errorf("%+v, %v", m, err)
				return
			}
		}
	})
	writers.Wait()
	close(stop)
	reader.Wait()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (History{}).write(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestHistoryWriteFails and leaves the old one, and no half a file.
func TestHistoryWriteFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, HistoryFile), 0o755); err != nil { // a rename over it fails
		t.Fatal(err)
	}
	if err := (History{}).write(dir); err == nil {
		t.Error("no error")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := (History{}).write(filepath.Join(dir, "none")); err == nil {
		t.Error("no error")
	}
}

func TestHistoryBegin(t *testing.T) {
	all := Scan{Checkpoints: []format.Checkpoint{at(4), at(3), at(2), at(1)}}
	run1, run2 := Run{"job", "run1"}, Run{"job", "run2"}
	asideOf := func(steps ...int64) (as []Aside) {
		for _, s := range steps {
			as = append(as, Aside{at(s).Path, at(s).Modified})
		}
		return as
	}
	gone := []Aside{{"step-9", saved}}
	rewritten := []Aside{{"step-4", saved}}
	for _, tt := range []struct {
		name string
		m    History
		run  Run
		from *int64
		want History
	}{
		{"the first start", History{}, run1, nil, History{V: 1, Run: run1, Aside: asideOf(4, 3, 2, 1)}},
		{"from a checkpoint", History{}, run1, step(4), History{V: 1, Run: run1, Reached: step(4)}},
		{"from the start again", History{Run: run1, Reached: step(4)}, run1, nil, History{V: 1, Run: run1, Aside: asideOf(4, 3, 2, 1)}},
		{"another run starts over", History{Run: run1, Reached: step(4)}, run2, nil, History{V: 1, Run: run2, Aside: asideOf(4, 3, 2, 1)}},
		{"back", History{Run: run1, Reached: step(4)}, run1, step(2), History{V: 1, Run: run1, Reached: step(2), Aside: asideOf(4, 3)}},
		{"back twice", History{Run: run1, Aside: asideOf(4)}, run1, step(1), History{V: 1, Run: run1, Reached: step(1), Aside: asideOf(4, 3, 2)}},
		{"what was aside stays aside", History{Run: run1, Aside: asideOf(4)}, run1, step(3), History{V: 1, Run: run1, Reached: step(3), Aside: asideOf(4)}},
		{"what is gone is forgotten", History{Run: run1, Aside: gone}, run1, step(4), History{V: 1, Run: run1, Reached: step(4)}},
		{"what was written again is forgotten", History{Run: run1, Aside: rewritten}, run1, step(4), History{V: 1, Run: run1, Reached: step(4)}},
	} {
		got := tt.m.Begin(tt.run, From{Step: tt.from}, all)
		if tt.run != tt.m.Run && len(got.Before) != len(all.Checkpoints) || tt.run == tt.m.Run && len(got.Before) != 0 {
			t.Errorf("%s: %d lay there before", tt.name, len(got.Before))
		}
		got.Before = nil
		if !sameHistory(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, asJSON(t, got), asJSON(t, tt.want))
		}
	}
	var long Scan
	for n := range int64(maxAside + 10) {
		long.Checkpoints = append(long.Checkpoints, format.Checkpoint{Path: fmt.Sprint(n), Step: maxAside + 10 - n, Modified: saved, Complete: true})
	}
	if m := (History{}).Begin(run1, From{Step: step(0)}, long); len(m.Aside) != maxAside || m.Aside[0].Path != "0" {
		t.Errorf("%d are set aside", len(m.Aside))
	}
}

func TestHistorySaw(t *testing.T) {
	for _, tt := range []struct {
		had   *int64
		steps []int64
		want  *int64
	}{{nil, nil, nil}, {nil, []int64{3, 2}, step(3)}, {step(2), []int64{3}, step(3)}, {step(5), []int64{3}, step(5)}, {step(5), nil, step(5)}, {nil, []int64{0}, step(0)}} {
		if got := (History{Reached: tt.had}).Observed(tt.steps, nil); asJSON(t, got.Reached) != asJSON(t, tt.want) {
			t.Errorf("%s after %s: %s", asJSON(t, tt.had), asJSON(t, tt.steps), asJSON(t, got.Reached))
		}
	}
}

// FuzzHistory takes what any program may have written there: it is refused, or it is read the same after it was written.
func FuzzHistory(f *testing.F) {
	f.Add([]byte(`{"v":1,"job":"j","runUid":"u","reached":5,"aside":[{"path":"step-6","modified":"2026-01-02T03:04:05.123456789+01:00"}]}`))
	f.Add([]byte(`{"v":1,"reached":9223372036854775807}`))
	f.Add([]byte(`{"V":1,"reached":null,"aside":[null]}`))
	f.Add([]byte(`{"v":1,"job":"\ud800"}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseHistory(data)
		if err != nil {
			if !strings.Contains(err.Error(), HistoryFile) {
				t.Errorf("%q: %v", data, err)
			}
			return
		}
		if m.V != memoryVersion || len(m.Aside) > maxAside || m.Reached != nil && *m.Reached < 0 {
			t.Fatalf("%q: %+v", data, m)
		}
		if err := m.write(dir); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		again, err := ReadHistory(os.DirFS(dir))
		if err != nil || !sameHistory(again, m) {
			t.Fatalf("%q: %+v, then %+v, %v", data, m, again, err)
		}
		_ = m.Begin(m.Run, From{Step: step(1)}, Scan{Checkpoints: []format.Checkpoint{{Path: "a", Step: 2, Modified: time.Unix(1, 0)}}})
	})
}
