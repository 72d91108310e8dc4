package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
)

func TestCheckpointSelect(t *testing.T) {
	dir := steps(t, "step-1", "step-2", "step-3!")
	res := look(ruled("select", dir)...)
	if res.code != 0 || res.out != filepath.Join(dir, "step-2")+"\n" || !strings.Contains(res.err, "step-3: no_marker") {
		t.Errorf("%+v", res)
	}
	var c format.Checkpoint
	res = look(ruled("select", "-o", "json", dir)...)
	if err := json.Unmarshal([]byte(res.out), &c); err != nil || c.Path != "step-2" || !c.Complete || c.Step != 2 || c.Level != format.Manifests {
		t.Errorf("%v: %+v", err, c)
	}
	runs := t.TempDir()
	for _, name := range []string{"resnet/ckpt_900.pt", "vit/ckpt_100.pt"} {
		if err := os.MkdirAll(filepath.Join(runs, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(runs, name), []byte("\x80\x02}X\x04\x00\x00\x00stepK\x05s."), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// What is asked about is not passed over.
	for _, command := range []string{"select", "ls"} {
		if res := look(command, runs); strings.Contains(res.err, "passed over") || strings.Count(res.err, "resnet, vit") != 1 {
			t.Errorf("%s of two runs: %s", command, res.err)
		}
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"all torn", ruled("select", steps(t, "step-1!", "step-2!")), 65, []string{"none of 2", "step-2: no_marker", "DONE"}},
		{"too old", ruled("select", "--max-age", "1m", dir), 65, []string{"none of 3", "step-3: no_marker", "too_old", "step-2"}},
		{"nothing there", ruled("select", t.TempDir()), 65, []string{"step-*"}},
		{"nothing of a known format", []string{"select", t.TempDir()}, 65, []string{"no checkpoints", "--pattern"}},
		{"two runs", []string{"select", runs}, 65, []string{"which is meant", "resnet, vit", "--ignore"}},
		{"no directory", ruled("select", filepath.Join(dir, "none")), 66, []string{"no such file or directory"}},
		{"no directory to list", ruled("ls", filepath.Join(dir, "none")), 66, []string{"none: no such file or directory"}},
		{"a file", ruled("select", filepath.Join(dir, "step-1", "weights")), 64, []string{"not a directory"}},
	} {
		if res := look(tt.args...); res.code != tt.code || res.out != "" {
			t.Errorf("%s: %+v", tt.name, res)
		} else {
			for _, s := range tt.says {
				if !strings.Contains(res.err, s) {
					t.Errorf("%s: %q does not say %q", tt.name, res.err, s)
				}
			}
		}
	}
}

// TestCheckpointSelectDeepDown looks closely at what it prints, however many newer ones are whole and too new to count.
func TestCheckpointSelectDeepDown(t *testing.T) {
	dir := steps(t, "step-1", "step-2", "step-3", "step-4", "step-5", "step-6")
	var aside []string
	for n := 2; n <= 6; n++ {
		aside = append(aside, fmt.Sprintf(`{"path":"step-%d","modified":%q}`, n, noon.Add(-time.Duration(7-n)*time.Hour+time.Second).Format(time.RFC3339Nano)))
	}
	if err := os.WriteFile(filepath.Join(dir, ".gangrun.json"), []byte(`{"v":1,"aside":[`+strings.Join(aside, ",")+`]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	var c format.Checkpoint
	res := look(ruled("select", "-o", "json", dir)...)
	if err := json.Unmarshal([]byte(res.out), &c); err != nil || c.Path != "step-1" || c.Level != format.Manifests {
		t.Errorf("%v: %+v", err, res)
	}
}
