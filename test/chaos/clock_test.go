package chaos_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/mutant"
)

// apart is by how many seconds the clocks of two nodes differ at most.
const apart = 3600

//go:embed testdata/clock.go
var clockSource string

// buildWithClock builds a gangrun whose clock of the day is what a file says: its package time adds that to what the
// kernel says. A time namespace has no clock of the day of its own. Everything is compiled once more, for which it
// takes a minute.
func buildWithClock(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	pkg := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	overlay := mutant.Overlay(t, filepath.Join(pkg, "time.go"), now, now+"\tsec += *ahead\n",
		mutant.File{Path: filepath.Join(pkg, "ahead.go"), Text: clockSource})
	return build(t, overlay)
}

// build builds gangrun with an overlay.
func build(t *testing.T, overlay string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "gangrun")
	cmd := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", binary, "-overlay", overlay, "./cmd/gangrun")
	cmd.Dir, cmd.Env = harness.Root(), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %s", out)
	}
	return binary
}

// clocks are the nodes' clocks of the day, a file each.
type clocks struct{ dir string }

func (c clocks) file(node int) string { return filepath.Join(c.dir, fmt.Sprint("clock-n", node)) }

// set sets one anywhere within the hour.
func (c clocks) set(node int, pick uint64) bool {
	f, err := os.OpenFile(c.file(node), os.O_CREATE|os.O_WRONLY, 0o644) // never truncated: it is mapped
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.Write(binary.NativeEndian.AppendUint64(nil, pick%(apart+1)))
	return err == nil
}

// of is the variable by which a node's gangrun finds its clock.
func (c clocks) of(node int) string { return "CHAOS_CLOCK=" + c.file(node) }

// TestClock shows that such a gangrun goes by that clock, and sees it change.
func TestClock(t *testing.T) {
	if os.Getenv("CI") == "" && os.Getenv("GANGRUN_TEST_LONG") == "" {
		t.Skip("compiles everything once more: make test-long")
	}
	binary := buildWithClock(t)
	t.Run("told", func(t *testing.T) { testClockTold(t, binary) })
	t.Run("set back", func(t *testing.T) { testClockSetBack(t, binary) })
}

func testClockTold(t *testing.T, binary string) {
	c := clocks{t.TempDir()}
	for _, pick := range []uint64{0, 3000} {
		if !c.set(0, pick) {
			t.Fatal("the clock cannot be set")
		}
		events := filepath.Join(t.TempDir(), "events")
		cmd := exec.Command(binary, "run", "--quiet", "--events", events, "--", "true")
		cmd.Env = append(os.Environ(), c.of(0))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		text, err := os.ReadFile(events)
		if err != nil {
			t.Fatal(err)
		}
		var last struct{ At time.Time }
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
			t.Fatal(err)
		}
		want := time.Duration(pick) * time.Second
		if off := time.Until(last.At); off < want-time.Minute || off > want {
			t.Errorf("a clock set %d s ahead is %v ahead", pick, off)
		}
	}
}

// testClockSetBack sets the clock back by an hour while a job pauses for a second before its restart: that is not an hour then.
func testClockSetBack(t *testing.T, binary string) {
	c, failed := clocks{t.TempDir()}, filepath.Join(t.TempDir(), "failed")
	if err := os.WriteFile(failed, nil, 0o644); err != nil || !c.set(0, apart) {
		t.Fatal("the clock cannot be set")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "run", "--restart-backoff", "2s:2s", "--", "/bin/sh", "-c",
		`if test "$(wc -c <"$FAILED")" -lt 2; then printf x >>"$FAILED"; kill -9 $$; fi`)
	cmd.Env = append(os.Environ(), c.of(0), "FAILED="+failed)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for ctx.Err() == nil {
		if s, err := os.Stat(failed); err == nil && s.Size() == 2 { // the first restart is at once
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Second) // half of the pause
	if !c.set(0, 0) {
		t.Fatal("the clock cannot be set")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, &out)
	}
}
