package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckpointLsTogether: what the files of a series tell of one another counts for ls as for a run. The steps of the later
// epoch are fewer, so the epochs count.
func TestCheckpointLsTogether(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"epoch_3.pt": "epochK\x03X\x04\x00\x00\x00stepK\x14u.", "epoch_4.pt": "epochK\x04X\x04\x00\x00\x00stepK\x02u."} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("\x80\x02}(X\x05\x00\x00\x00"+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	res := look("ls", dir)
	if !strings.Contains(res.out, "* 4") && !strings.Contains(res.out, "*    4") || !strings.Contains(res.out, "epoch_4.pt") {
		t.Errorf("%+v", res)
	}
}
