package harness

import (
	"fmt"
	"os"
	"strings"
)

// Put puts text, which a command makes, into a page: between the line that says which command, and UntilHere.
func Put(path, begins, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(page), begins)
	_, after, ended := strings.Cut(rest, UntilHere)
	if !found || !ended {
		return fmt.Errorf("%s: want %q and %q in it", path, begins, UntilHere)
	}
	return os.WriteFile(path, []byte(before+begins+text+UntilHere+after), 0o644)
}

// UntilHere ends what a command makes in a page.
const UntilHere = "<!-- until here -->\n"
