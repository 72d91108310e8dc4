package command

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestReportTakesNoFlagForAFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	app := &cli.App{
		Name: "gangrun", Writer: io.Discard, ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{reportCommand(new(program))},
	}
	err := app.Run([]string{"gangrun", "report", "--html", "--output", "node0.events"})
	if want := "--html: a value is missing before --output"; err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*")); len(found) > 0 {
		t.Errorf("written: %v", found)
	}
}
