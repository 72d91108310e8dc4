package torchrun

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The pieces of DIR/RUN_XXXXXXXX/attempt_N/LOCAL_RANK/stdout.log, torchrun's layout of logs.
const (
	// RootPattern is for os.MkdirTemp, where --log-dir names no directory.
	RootPattern = "torchelastic_*"
	// NoLogs is the --log-dir that stands for no files at all, error files included.
	NoLogs = "/dev/null"

	StdoutLog      = "stdout.log"
	StderrLog      = "stderr.log"
	ErrorFile      = "error.json"
	FilteredStdout = "filtered_stdout.log" // in the attempt's directory
	FilteredStderr = "filtered_stderr.log" // in the attempt's directory
)

// RunPattern is the name of a run's directory, for os.MkdirTemp. Slashes in a run id become underscores.
func RunPattern(runID string) string { return strings.ReplaceAll(runID, "/", "_") + "_*" }

// AttemptDirectory is the name of the directory of attempt n in a run's directory. torchrun removes an older one of
// that name; here it stays, and the new one has a number of its own: attempt_0, attempt_0.1, attempt_0.2.
func AttemptDirectory(n int, taken func(name string) bool) string {
	base := "attempt_" + strconv.Itoa(n)
	name := base
	for i := 1; taken(name); i++ {
		name = base + "." + strconv.Itoa(i)
	}
	return name
}

// WorkerDirectory is the directory of a worker in an attempt's directory.
func WorkerDirectory(attempt string, localRank int) string {
	return filepath.Join(attempt, strconv.Itoa(localRank))
}

// Sink is where a stream of a worker goes.
type Sink struct {
	File    bool // into its log file
	Console bool
	Prefix  bool // on the console each line has its prefix; without, the worker has the console for itself
}

// Sinks tells where the streams of a local rank go, by --redirects, --tee, --local-ranks-filter and --log-dir.
func (o Options) Sinks(localRank int) (stdout, stderr Sink) {
	if o.LogDir == NoLogs {
		return Sink{Console: true}, Sink{Console: true}
	}
	shown := len(o.LocalRanksFilter) == 0 || slices.Contains(o.LocalRanksFilter, localRank)
	redirectOut, redirectErr := o.Redirects.For(localRank)
	teeOut, teeErr := o.Tee.For(localRank)
	return sink(redirectOut, teeOut, shown), sink(redirectErr, teeErr, shown)
}

// FilesFrom is what asks for files of the output of one of so many local ranks, as it was given; "" where nothing does. alone says that
// the output is to go nowhere else.
func (o Options) FilesFrom(ranks int) (from string, alone bool) {
	for _, f := range []struct {
		name    string
		streams Streams
	}{{"redirects", o.Redirects}, {"tee", o.Tee}} {
		for rank := range ranks {
			if stdout, stderr := f.streams.For(rank); stdout || stderr {
				return o.from(f.name), f.name == "redirects"
			}
		}
	}
	return "", false
}

func sink(redirect, tee, shown bool) Sink {
	return Sink{File: redirect || tee, Console: shown && (tee || !redirect), Prefix: shown && tee}
}

// LinePrefix is what stands before a worker's lines on the console; host is the node's short name.
func (o Options) LinePrefix(rank, localRank int, host string) string {
	return Substitute(o.LinePrefixTemplate, func(name string) (string, bool) {
		switch name {
		case "role_name":
			return o.Role, true
		case "rank":
			return strconv.Itoa(rank), true
		case "local_rank":
			return strconv.Itoa(localRank), true
		case "hostname":
			return host, true
		}
		return "", false
	})
}
