package supervisor

import (
	"os"
	"time"

	"github.com/gangrun/gangrun/supervisor/output"
)

// filtered are the files of a round that keep chosen lines of several workers.
type filtered map[string]*filteredFile

type filteredFile struct {
	file    *os.File
	console *output.Console
	streams []*output.Stream
}

// open opens the file that the filter names, or returns nil when it cannot be: a missing log does not stop training.
func (f filtered) open(s *Supervisor, sink Sink) *output.Filter {
	if sink.Filter == nil {
		return nil
	}
	path := sink.Filter.File
	if f[path] == nil {
		file, err := openLog(s, path, func() (*os.File, error) {
			return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		})
		if err != nil {
			s.log.Warn("a log file is missing", "err", err)
			return nil
		}
		f[path] = &filteredFile{file: file, console: output.NewConsole(file, output.ConsoleOptions{})}
	}
	return &output.Filter{Console: f[path].console, Prefix: sink.Prefix, Contains: sink.Filter.Contains}
}

// feed remembers that a stream writes to the sink's file.
func (f filtered) feed(sink Sink, stream *output.Stream) {
	if sink.Filter != nil && f[sink.Filter.File] != nil {
		f[sink.Filter.File].streams = append(f[sink.Filter.File].streams, stream)
	}
}

// close closes the files once their streams have ended, or at the deadline.
func (f filtered) close(deadline time.Time) {
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	for _, file := range f {
		for _, stream := range file.streams {
			select {
			case <-stream.Done():
			case <-late.C:
				late.Reset(0) // for the next ones
			}
		}
		_ = file.console.Close(deadline) // what is missing is missing in a log
		_ = file.file.Close()
	}
}
