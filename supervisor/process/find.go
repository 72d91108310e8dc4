package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// StartError says that a command could not be started. Nothing ran.
type StartError struct {
	Path string
	Err  error
	// Code is what a shell exits with: 127 when the command or its interpreter does not exist, 126 when it is there
	// but cannot be executed; 0 when the machine, not the command, is at fault (no processes or memory left).
	Code int
}

// Error names the command, and the system's error.
func (e *StartError) Error() string { return fmt.Sprintf("cannot start %s: %v", e.Path, e.Err) }

// Unwrap returns the system's error.
func (e *StartError) Unwrap() error { return e.Err }

// in is where a file is: gangrun itself does not stay in the working directory dir of what it starts.
func in(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

func startError(path, dir string, err error) *StartError {
	e := &StartError{Path: path, Err: err, Code: 126}
	switch err {
	case syscall.ENOENT:
		e.Code = 127
		switch interpreter := shebang(in(dir, path)); {
		case strings.HasSuffix(interpreter, "\r"):
			e.Err = fmt.Errorf("its first line (#!) ends with a carriage return, as lines do on Windows, and no interpreter is called that: %w", err)
		case interpreter != "":
			e.Err = fmt.Errorf("its interpreter %s: %w", interpreter, err)
		}
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE:
		e.Code = 0
	}
	return e
}

// Find resolves a command as execvp(3) does: a name with a slash is itself; any other is looked up in the directories
// of path (the value of PATH), where an empty element is the working directory dir. The error is a *StartError.
func Find(name, dir, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(name, dir)
	}
	if name == "" {
		return "", &StartError{Path: `""`, Err: syscall.ENOENT, Code: 127}
	}
	var found error
	missing := "not found in PATH"
	if path == "" {
		missing = "not found: PATH is not set, or empty"
	}
	for _, directory := range filepath.SplitList(path) {
		if directory == "" {
			directory = "."
		}
		candidate := directory + "/" + name
		err := executable(candidate, dir)
		if err == nil {
			return candidate, nil
		}
		switch _, absent := os.Stat(in(dir, candidate)); {
		case errors.Is(absent, fs.ErrNotExist):
		case errors.Is(absent, fs.ErrPermission), errors.Is(absent, syscall.ENOTDIR): // what is in such a directory is unknown
			missing += fmt.Sprintf("; cannot look into %s: %v", directory, errors.Unwrap(absent))
		default:
			found = err // there, but not executable: keep looking, and say so if nothing better comes
		}
	}
	if found != nil {
		return "", found
	}
	if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
		missing += fmt.Sprintf(", but ./%s is there", name)
	}
	return "", &StartError{Path: name, Err: errors.New(missing), Code: 127}
}

func executable(file, dir string) error {
	at := in(dir, file)
	info, err := os.Stat(at)
	if err == nil && info.IsDir() {
		return &StartError{Path: file, Err: errors.New("is a directory"), Code: 126}
	}
	if err == nil {
		err = unix.Faccessat(unix.AT_FDCWD, at, unix.X_OK, unix.AT_EACCESS)
	}
	if err == nil {
		return nil
	}
	var errno syscall.Errno
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	if errors.As(err, &errno) {
		return startError(file, dir, errno)
	}
	return &StartError{Path: file, Err: err, Code: 126}
}

// isScript tells a text file, which the shell may try, from a binary that the kernel refused.
func isScript(path string) bool {
	head := head(path)
	return len(head) > 0 && bytes.IndexByte(head, 0) < 0
}

// shebang is the interpreter that the script names, or "".
func shebang(path string) string {
	line, found := bytes.CutPrefix(head(path), []byte("#!"))
	if !found {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if words := strings.FieldsFunc(string(line), func(r rune) bool { return r == ' ' || r == '\t' }); len(words) > 0 { // as the kernel does
		return words[0]
	}
	return ""
}

func head(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := bufio.NewReaderSize(f, 512).Peek(256)
	return data
}
