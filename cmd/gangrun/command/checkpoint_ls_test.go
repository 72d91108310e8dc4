package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/exitcodes"
)

func TestCheckpointLs(t *testing.T) {
	dir := steps(t, "step-1", "step-2", "step-3!")
	res := look(ruled("ls", dir)...)
	if res.code != 0 || res.failure != nil || res.err != "" {
		t.Fatalf("%+v", res)
	}
	want := [][]string{{"STEP", "FORMAT"}, {"3", "custom", "torn", "no_marker", "step-3"}, {"DONE"},
		{"*", "2", "custom", "119m", "complete", "step-2"}, {"1", "complete", "step-1"}}
	lines := strings.Split(strings.TrimSuffix(res.out, "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), res.out)
	}
	for n, words := range want {
		for _, w := range words {
			if !strings.Contains(lines[n], w) {
				t.Errorf("line %d has no %q: %s", n, w, lines[n])
			}
		}
	}
	if n := strings.Count(res.out, "*"); n != 1 {
		t.Errorf("%d are chosen:\n%s", n, res.out)
	}
	if strings.Contains(res.out, "\x1b") {
		t.Errorf("colours in a file:\n%q", res.out)
	}

	var l struct {
		Format, Chosen string
		Checkpoints    []format.Checkpoint
	}
	res = look(ruled("ls", "-o", "json", dir)...)
	if err := json.Unmarshal([]byte(res.out), &l); err != nil || l.Format != "custom" || l.Chosen != "step-2" || len(l.Checkpoints) != 3 ||
		l.Checkpoints[0].Step != 3 || l.Checkpoints[0].Complete || !l.Checkpoints[1].Complete {
		t.Errorf("%v: %+v", err, l)
	}

	// What the policy passes over is shown as such, and the next one is marked.
	res = look(ruled("ls", "--max-age", "90m", dir)...)
	if res.code != 0 || strings.Contains(res.out, "*") || strings.Count(res.out, "too_old") != 2 {
		t.Errorf("%+v", res)
	}
}

func TestCheckpointLsOfNothing(t *testing.T) {
	empty := t.TempDir()
	if res := look("ls", empty); res.code != 0 || res.failure != nil || res.out != "" || !strings.Contains(res.err, "no checkpoints") {
		t.Errorf("%+v", res)
	}
	if res := look("ls", "-o", "json", empty); res.code != 0 || res.out != "{\n  \"format\": \"\",\n  \"checkpoints\": []\n}\n" {
		t.Errorf("%+v", res)
	}
}

// TestCheckpointLsAsRun: what ls says of directories of which a run decides by more than what is in them.
func TestCheckpointLsAsRun(t *testing.T) {
	const (
		state = "\x80\x02}(X\x04\x00\x00\x00stepK\x05X\x05\x00\x00\x00optimK\x01u." // {"step": 5, ...}
	)
	dir := t.TempDir()
	for name, data := range map[string]string{"epoch_1.pt": state[:20], "rest/state.pt": state} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if res := look("ls", dir); res.code != 0 || !strings.Contains(res.err, "would not start, but end with 65") || !strings.Contains(res.out, "rest/state.pt") {
		t.Errorf("a state below: %+v", res)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ckpt.pt"), []byte(state[:20]), 0o644); err != nil {
		t.Fatal(err)
	}
	says := "would not start, but end with 65"
	if checkpoint.FirstSave(dir, "ckpt.pt") {
		says = "would start fresh"
	}
	if res := look("ls", dir); res.code != 0 || !strings.Contains(res.err, says) {
		t.Errorf("a cut save in place: %+v, want %q", res, says)
	}
}

// TestCheckpointLsSetAside shows what a run has gone back behind.
func TestCheckpointLsSetAside(t *testing.T) {
	dir := steps(t, "step-1", "step-2")
	memory := fmt.Sprintf(`{"v":1,"aside":[{"path":"step-2","modified":%q}]}`, noon.Add(-time.Hour+time.Second).Format(time.RFC3339Nano))
	if err := os.WriteFile(filepath.Join(dir, ".gangrun.json"), []byte(memory), 0o644); err != nil {
		t.Fatal(err)
	}
	res := look(ruled("ls", dir)...)
	if !strings.Contains(res.out, "quarantined") || !strings.Contains(res.out, "*    1") {
		t.Errorf("%+v", res)
	}
	if res := look(ruled("select", dir)...); res.out != filepath.Join(dir, "step-1")+"\n" {
		t.Errorf("%+v", res)
	}
	if err := os.WriteFile(filepath.Join(dir, ".gangrun.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if res := look(ruled("ls", dir)...); res.code != codeUnknown || strings.Contains(res.out, "*") || !strings.Contains(res.out, "step-2") {
		t.Errorf("with a memory that cannot be read: %+v", res)
	}
	if res := look(ruled("select", dir)...); res.code != exitcodes.CodeCheckpointUnusable || res.out != "" {
		t.Errorf("with a memory that cannot be read: %+v", res)
	}
}

// TestCheckpointNames that a terminal or a shell would trip over are quoted, and never printed as the one line of select.
func TestCheckpointNames(t *testing.T) {
	dir := steps(t, "step-\x1b[31m1", "step-\n2")
	if res := look(ruled("ls", dir)...); strings.ContainsAny(res.out, "\x1b") || !strings.Contains(res.out, `"step-\n2"`) ||
		!strings.Contains(res.out, `"step-\x1b[31m1"`) {
		t.Errorf("%+v", res)
	}
	if res := look(ruled("select", dir)...); res.code != codeUnknown || res.out != "" || !strings.Contains(res.err, `step-\n2`) {
		t.Errorf("%+v", res)
	}
	if res := look(ruled("select", "-o", "json", dir)...); res.code != 0 || !strings.Contains(res.out, `"step-\n2"`) {
		t.Errorf("%+v", res)
	}
}
