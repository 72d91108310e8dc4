package supervisor

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gangrun/gangrun/internal/task"
)

// answerTime is how long the end of a hang waits for what was asked.
const answerTime = time.Second

// evidenceFile is a file of evidence, of bounded size.
type evidenceFile struct{ name, text string }

// keepTime is the most that files of evidence are waited for: the disk may be what hangs.
const keepTime = 2 * time.Second

// keep writes files of evidence beside the logs, and says where.
func (s *Supervisor) keep(round int, files ...evidenceFile) {
	dir, err := task.Within(keepTime, func() (string, error) {
		base := ""
		if s.cfg.HangDir != nil {
			base = s.cfg.HangDir()
		}
		if base = cmp.Or(base, s.cfg.StateDir); base != "" {
			if err := os.MkdirAll(base, 0o755); err != nil {
				return "", err
			}
		}
		name := fmt.Sprintf("hang_%s_round%d_*", strings.ReplaceAll(s.cfg.Node, "/", "_"), round)
		dir, err := os.MkdirTemp(base, name)
		if err != nil {
			return "", err
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, f.name), []byte(f.text), 0o644); err != nil {
				return "", err
			}
		}
		return dir, os.Chmod(dir, 0o755)
	}, nil)
	if err != nil {
		s.log.Warn("evidence of the hang could not be saved", "err", err)
		return
	}
	s.log.Warn("evidence of the hang saved", "dir", dir)
}
