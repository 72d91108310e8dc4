package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/gangrun/gangrun/test/chaos/history"
)

// help is the child: it holds a file, and hears no signal that can be ignored.
func (w *worker) help() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	name := fmt.Sprintf("%d-%d-%s-%d-helper", w.at.Round, w.at.Rank, w.at.Node, w.at.Pod)
	if _, err := history.Live(filepath.Join(w.dir, "alive"), w.at.Round, name); err != nil {
		os.Exit(99)
	}
	forever()
}
