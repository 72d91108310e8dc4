package file

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/observe/event"
)

func events(from, count int) (list []event.Event) {
	for i := range count {
		list = append(list, event.Event{
			V: 1, ID: fmt.Sprintf("s-%d", from+i), Seq: int64(from + i), Source: "s", At: time.Unix(int64(i), 0).UTC(),
			Type: event.Progress,
		})
	}
	return list
}

func read(t *testing.T, path string) (list []event.Event) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := event.Read(bytes.NewReader(data), func(e event.Event) { list = append(list, e) })
	if err != nil || len(problems) > 0 {
		t.Fatalf("%s: %v %v", path, problems, err)
	}
	return list
}

func closed(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.Close(time.Minute); err != nil {
		t.Error(err)
	}
}

// TestRotation keeps a bounded number of files of a bounded size, and of what they hold nothing is lost or torn.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	const size = 2000
	for begin := 1; begin <= 200; begin += 50 { // over several lives of gangrun
		w := Open(path, size, slog.New(slog.DiscardHandler))
		w.Take(events(begin, 50))
		closed(t, w)
	}
	var all []event.Event
	for i := Older; i >= 0; i-- {
		name := path
		if i > 0 {
			name = fmt.Sprintf("%s.%d", path, i)
		}
		if info, err := os.Stat(name); err != nil || info.Size() > size {
			t.Errorf("%s: %v %v", name, info, err)
		}
		all = append(all, read(t, name)...)
	}
	for i, e := range all {
		if want := int64(200 - len(all) + 1 + i); e.Seq != want {
			t.Fatalf("event %d has number %d, want %d", i, e.Seq, want)
		}
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != Older+1 {
		t.Errorf("%d files", len(files))
	}
}

// TestTornLine: what comes after half a line of a gangrun that went down begins on a line of its own.
func TestTornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	if err := os.WriteFile(path, []byte(`{"v":1,"id":"x`), 0o644); err != nil {
		t.Fatal(err)
	}
	w := Open(path, DefaultSize, slog.New(slog.DiscardHandler))
	w.Take(events(1, 2))
	closed(t, w)
	data, _ := os.ReadFile(path)
	found := 0
	problems, _ := event.Read(bytes.NewReader(data), func(event.Event) { found++ })
	if found != 2 || len(problems) != 1 {
		t.Errorf("%d events, %v", found, problems)
	}
}

// TestNobodyReads is a named pipe that nobody opens for reading: neither Take nor Close waits for it.
func TestNobodyReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	keep, err := os.OpenFile(path, os.O_RDWR, 0) // it can be opened, and is full soon
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	w := Open(path, DefaultSize, slog.New(slog.DiscardHandler))
	w.Take(events(1, queued+2000))
	if err := w.Close(10 * time.Millisecond); err == nil || w.Dropped() == 0 {
		t.Errorf("all %d events went into a full pipe: %v", queued+2000, err)
	}
}

// TestDropped says how many events are missing once there is room again.
func TestDropped(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "not", "yet", "there")
	var log bytes.Buffer
	w := newWriter(path, DefaultSize, slog.New(slog.NewTextHandler(&log, nil)))
	for _, e := range events(1, 5) {
		w.write(e)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	w.write(events(6, 1)[0])
	list := read(t, path)
	if len(list) != 2 || list[0].Type != event.EventsDropped || list[0].Dropped.Count != 5 || list[1].Seq != 6 {
		t.Errorf("%+v", list)
	}
	if n := strings.Count(log.String(), "cannot write events"); n != 1 {
		t.Errorf("said %d times: %s", n, &log)
	}
}
