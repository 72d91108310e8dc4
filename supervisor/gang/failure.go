package gang

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/torchrun"
)

// RoundEnded logs each rank that failed by itself in torchrun's words, and keeps the round for Report.
func (t *Torchrun) RoundEnded(r supervisor.Round) {
	t.last = r
	if r.Cause < 0 {
		return
	}
	for i, e := range r.Workers {
		if failed(e) && e.Stop == exitcodes.NotStopped && !(t.Brief && i == r.Cause) {
			t.Log.Error(t.Options.FailedLine(t.failure(e), e.Argv[0]))
		}
	}
}

// Report writes torchrun's failure report about the last round, if a rank failed in it by itself, and hands the cause's
// error file on as torchrun does: to the file that TORCHELASTIC_ERROR_FILE named for gangrun itself, which is own.
func (t *Torchrun) Report(w io.Writer, own string) {
	if t.last.Cause < 0 || len(t.last.Workers) == 0 || t.last.Workers[t.last.Cause].PID == 0 {
		return
	}
	failures := []torchrun.Failure{t.failure(t.last.Workers[t.last.Cause])}
	for i, e := range t.last.Workers {
		if failed(e) && i != t.last.Cause {
			failures = append(failures, t.failure(e))
		}
	}
	slices.SortStableFunc(failures[1:], func(a, b torchrun.Failure) int { return a.At.Compare(b.At) }) // as torchrun finds them
	io.WriteString(w, torchrun.Report(t.Options.Title(), failures, 0))
	if cause := t.last.Workers[t.last.Cause]; own != "" && cause.ErrorData != nil {
		if err := passOn(own, cause.ErrorData, popen(cause.Status)); err != nil {
			t.Log.Warn("cannot pass on the error file", "err", err)
		}
	}
}

func failed(e supervisor.Ended) bool { return e.PID != 0 && e.Status != exitcodes.Status{} }

func (t *Torchrun) failure(e supervisor.Ended) torchrun.Failure {
	return torchrun.Failure{
		Rank: e.Rank, LocalRank: e.LocalRank, PID: e.PID, ExitCode: e.Status.Code, Signal: e.Status.Signal,
		Host: t.Host, At: e.At, ErrorFile: e.ErrorFile, Content: e.ErrorData,
	}
}

// popen is a status as Python's Popen gives it.
func popen(s exitcodes.Status) int {
	if s.Signal != 0 {
		return -s.Signal
	}
	return s.Code
}

// passOn writes a worker's error file to path with the worker's status in it, which the worker could not know
// (torch.distributed.elastic.multiprocessing.errors: dump_error_file).
func passOn(path string, data []byte, code int) error {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("the worker's error file: %w", err)
	}
	var message map[string]json.RawMessage
	if json.Unmarshal(file["message"], &message) == nil { // else it is the older form, which has no place for it
		message["errorCode"] = json.RawMessage(fmt.Sprint(code))
		file["message"], _ = json.Marshal(message) // of what was just read
	}
	data, err := json.Marshal(file)
	if err != nil {
		return err
	}
	// A worker may have put a FIFO there: it is written to where somebody reads it, and not waited for.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
