// Page makes the first table of docs/benchmarks.md, and its picture, of what `make bench` printed on a machine that did nothing
// else:
//
//	go run ./test/bench > docs/benchmarks.txt && go run ./test/bench/page
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/gangrun/gangrun/test/harness"
)

// begins is the line in the page after which the table stands.
const begins = "<!-- printed by go run ./test/bench/page -->\n"

func main() {
	if err := run("docs/benchmarks.txt", "docs/benchmarks.md", "docs/benchmarks.svg"); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run(printed, page, picture string) error {
	text, svg, err := report(printed)
	if err != nil {
		return err
	}
	return errors.Join(harness.Put(page, begins, text), os.WriteFile(picture, []byte(svg), 0o644))
}

// report is the table, and the picture.
func report(printed string) (text, svg string, err error) {
	data, err := os.ReadFile(printed)
	if err != nil {
		return "", "", err
	}
	results, err := read(string(data))
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", printed, err)
	}
	return "\n" + beside(results) + "\n", picture(results), nil
}
