package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/observe/file"
)

// Read reads the events of some files, and of the older ones that --events has left beside each. What stands in two of them
// counts once. "-" is standard input. problems are the lines that are no events; the error is a file that cannot be read.
func Read(paths []string, stdin io.Reader) (events []event.Event, problems []string, err error) {
	seen := map[string]bool{}
	read := func(name string, in io.Reader) error {
		wrong, err := event.Read(in, func(e event.Event) {
			if !seen[e.ID] {
				seen[e.ID] = true
				events = append(events, e)
			}
		})
		for _, p := range wrong {
			problems = append(problems, fmt.Sprintf("%s:%d: %v", name, p.Line, p.Err))
		}
		return err
	}
	var files []string
	for _, path := range paths {
		if path == "-" {
			if err := read("standard input", stdin); err != nil {
				return nil, nil, err
			}
			continue
		}
		for i := file.Older; i > 0; i-- {
			older := fmt.Sprintf("%s.%d", path, i)
			if _, err := os.Stat(older); err == nil {
				files = append(files, older)
			}
		}
		files = append(files, path)
	}
	slices.Sort(files)
	for _, path := range slices.Compact(files) {
		in, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		err = read(path, in)
		if err = errors.Join(err, in.Close()); err != nil {
			if _, named := errors.AsType[*os.PathError](err); !named {
				err = fmt.Errorf("%s: %w", path, err)
			}
			return nil, nil, err
		}
	}
	return events, problems, nil
}
