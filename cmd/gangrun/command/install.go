package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes/replace"
)

func installCommand() *cli.Command {
	return &cli.Command{
		Name:  "install",
		Usage: "copy gangrun into a directory",
		CustomHelpTemplate: help("install", "DIR", "install /shared",
			"Copies itself to DIR/gangrun and prints that path. For an init container that puts gangrun into a volume, so that a\n"+
				"training image without it can run as /shared/gangrun run -- ... A gangrun that is there already is replaced, even while it runs.\n"+
				"Exits 66 when DIR is not there.\n", nil),
		Before:       withoutSupervising,
		OnUsageError: func(c *cli.Context, err error, _ bool) error { return usage(c, err) },
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return &configError{"want one directory: gangrun install DIR"}
			}
			path, err := install(c.Args().First())
			if err != nil {
				return installFailed(c, err)
			}
			fmt.Fprintln(stdout, path)
			return nil
		},
	}
}

// install copies this program to dir/gangrun, atomically, and returns its path. The directory has to exist: a missing one
// is most likely a volume that is not mounted, and a copy in the container's own files would be of no use.
func install(dir string) (path string, err error) {
	if err := directory(dir); err != nil {
		return "", err
	}
	self, err := os.Open("/proc/self/exe") // this file, even if another has taken its place by now
	if err != nil {
		return "", err
	}
	defer self.Close()
	path = filepath.Join(dir, "gangrun")
	err = replace.File(path, 0o755, func(w io.Writer) error { // to write into a program that runs would not be allowed
		_, err := io.Copy(w, self)
		return err
	})
	return path, notWritten(path, err)
}

// notWritten says what could not be written, and not by which temporary name.
func notWritten(path string, err error) error {
	cause, is := errors.AsType[unix.Errno](err)
	switch {
	case !is:
		return err
	case cause == unix.EACCES || cause == unix.EPERM || cause == unix.EROFS:
		return fmt.Errorf("the directory %s cannot be written: %w; do this as a user who may, or name another directory", filepath.Dir(path), cause)
	}
	return fmt.Errorf("%s: %w", path, cause)
}

// installFailed is the error with the command's name; what is not there stays what it is.
func installFailed(c *cli.Context, err error) error {
	text := c.Command.Name + ": " + err.Error()
	if _, absent := errors.AsType[*absentError](err); absent {
		return &absentError{text}
	}
	return &configError{text}
}

// directory refuses what is not a directory, or does not exist.
func directory(dir string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return &absentError{dir + ": no such directory"}
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	return nil
}

func installTorchrunCommand() *cli.Command {
	return &cli.Command{
		Name:  "install-torchrun",
		Usage: "make gangrun the torchrun of a directory",
		CustomHelpTemplate: help("install-torchrun", "DIR", "install-torchrun /usr/local/bin",
			"Creates the link DIR/torchrun, which is gangrun launch. DIR has to come before the directory of another torchrun on PATH; one that\n"+
				"is in DIR already is left alone. Exits 66 when DIR is not there.\n", nil),
		Before:       withoutSupervising,
		OnUsageError: func(c *cli.Context, err error, _ bool) error { return usage(c, err) },
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return &configError{"want one directory: gangrun install-torchrun DIR"}
			}
			link, err := installTorchrun(c.Args().First())
			if err != nil {
				return installFailed(c, err)
			}
			fmt.Fprintln(stdout, link)
			return nil
		},
	}
}

// installTorchrun makes the link and returns its path. A link to this program is as good as a new one.
func installTorchrun(dir string) (string, error) {
	if err := directory(dir); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	link := filepath.Join(dir, launcherName)
	err = os.Symlink(self, link)
	if errors.Is(err, os.ErrExist) {
		if target, _ := filepath.EvalSymlinks(link); target == self {
			return link, nil
		}
		return "", fmt.Errorf("%s exists and is another program; name a directory that comes before it on PATH", link)
	}
	return link, notWritten(link, err)
}
