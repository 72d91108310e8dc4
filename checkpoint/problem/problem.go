// Package problem says what is wrong with a checkpoint.
package problem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
)

// Reason is a stable name for what is wrong, for programs and metrics.
type Reason string

// The reasons. Those of the last group say that it is unknown: such a checkpoint is neither whole nor absent.
const (
	NoMarker            Reason = "no_marker"             // what is written last is not there
	InProgress          Reason = "in_progress"           // its name or a file in it says that it is being written
	OverwriteInProgress Reason = "overwrite_in_progress" // a part is younger than the marker of an earlier save
	UnfinishedMarker    Reason = "unfinished_marker"     // a file beside it says that it is not finished
	MissingShard        Reason = "missing_shard"
	MissingRankState    Reason = "missing_rank_state"
	Truncated           Reason = "truncated"
	EmptyFile           Reason = "empty_file"
	BadZip              Reason = "bad_zip"
	ZipMissingRecords   Reason = "zip_missing_records" // a well-formed zip that an interrupted save has closed
	BadSafetensors      Reason = "bad_safetensors"
	BadIndex            Reason = "bad_index"
	BadJSON             Reason = "bad_json"
	BadPickle           Reason = "bad_pickle"
	SizeMismatch        Reason = "size_mismatch"
	HashMismatch        Reason = "hash_mismatch"
	StepMismatch        Reason = "step_mismatch"
	PointerDangling     Reason = "pointer_dangling"
	PointerMalformed    Reason = "pointer_malformed"
	UnknownFormat       Reason = "unknown_format"
	Quarantined         Reason = "quarantined"

	// Whole, and not to be resumed from.
	WeightsOnly       Reason = "weights_only" // an export, or without the state of the optimizer
	WorldSizeMismatch Reason = "world_size_mismatch"
	OtherRun          Reason = "other_run"
	TooOld            Reason = "too_old"

	Permission   Reason = "permission"    // it may not be read
	IOError      Reason = "io_error"      // reading failed: a disk, a file server
	Network      Reason = "network"       // an object store does not answer, or not as it should
	Internal     Reason = "internal"      // gangrun itself failed
	CheckTimeout Reason = "check_timeout" // the time for the check was over
)

// Unknown reports whether the reason leaves it unknown what exists.
func (r Reason) Unknown() bool {
	switch r {
	case Permission, IOError, Network, Internal, CheckTimeout:
		return true
	}
	return false
}

// Error is what is wrong with a checkpoint.
type Error struct {
	Reason Reason
	// Detail is a sentence for a person: the first offending file, what was expected and what was found.
	Detail string
}

func (e *Error) Error() string { return string(e.Reason) + ": " + e.Detail }

// New makes an Error.
func New(reason Reason, format string, args ...any) *Error {
	return &Error{reason, fmt.Sprintf(format, args...)}
}

// Of turns any error into one of this package. An error of the operating system or of a network means that it is
// unknown: it must never be read as "not there". missing is what a file means that does not exist.
func Of(err error, missing Reason) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Error{missing, err.Error()}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Error{CheckTimeout, err.Error()}
	}
	reason := IOError
	_, system := errors.AsType[syscall.Errno](err)
	if _, ok := errors.AsType[net.Error](err); ok && !system {
		reason = Network
	}
	if errors.Is(err, fs.ErrPermission) {
		reason = Permission
	}
	return &Error{reason, err.Error()}
}
