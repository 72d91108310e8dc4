package supervisor

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// scratch is a directory of our own for sockets and small files, made when it is first needed: nobody else can write to
// it or guess what will be in it.
type scratch struct {
	log *slog.Logger

	mu    sync.Mutex // the loop asks for paths, and so does a round that is being prepared beside it, given up or not
	dir   string
	tried bool
}

// path is that of a file in the directory; empty where none can be made, as with a read-only root without a /tmp.
func (s *scratch) path(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tried {
		s.tried = true
		dir, err := os.MkdirTemp("", "gangrun-")
		if err != nil {
			level := slog.LevelInfo // a root that is mounted read-only is meant so
			if os.Getenv("TMPDIR") != "" {
				level = slog.LevelWarn
			}
			s.log.Log(context.Background(), level, "no directory for temporary files: workers cannot report their steps, nor leave error files unless "+
				"they were told where; set TMPDIR to a directory that can be written to", "err", err)
		}
		s.dir = dir
	}
	if s.dir == "" {
		return ""
	}
	return filepath.Join(s.dir, name)
}

// remove removes the directory with all that is in it. Where there is none, none is made from now on.
func (s *scratch) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = true
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // a temporary file that stays is no reason to fail
	}
}
