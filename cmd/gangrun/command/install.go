package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"
)

func installTorchrunCommand() *cli.Command {
	return &cli.Command{
		Name:  "install-torchrun",
		Usage: "make gangrun the torchrun of a folder",
		UsageText: "gangrun install-torchrun DIR\n\nExample: gangrun install-torchrun /usr/local/bin\n\n" +
			"Makes the link DIR/torchrun, which is gangrun launch. DIR has to come before the folder of another torchrun on PATH; one that\n" +
			"is in DIR already is left alone.",
		Before: withoutSupervising,
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return &configError{"want one folder: gangrun install-torchrun DIR"}
			}
			link, err := installTorchrun(c.Args().First())
			if err != nil {
				return &configError{err.Error()}
			}
			fmt.Println(link)
			return nil
		},
	}
}

// installTorchrun makes the link and returns its path. A link to this program is as good as a new one.
func installTorchrun(dir string) (string, error) {
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
		return "", fmt.Errorf("%s exists and is another program; name a folder that comes before it on PATH", link)
	}
	return link, err
}
