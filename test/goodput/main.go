// Goodput simulates how much of a long training run is left for training when machines fail as often as they did for
// Llama 3. What is decided after each failure, and when, is decided by the functions that gangrun ships with
// (rendezvous.Decide, supervisor/hang), with its defaults. It prints the tables of docs/goodput.md:
//
//	go run ./test/goodput                          prints them
//	go run ./test/goodput -picture goodput.svg     draws where the time goes, too
//	go run ./test/goodput -page docs/goodput.md    and puts the tables into the page
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/gangrun/gangrun/test/harness"
)

func main() {
	path := flag.String("picture", "", "the file to draw where the time goes to, as SVG")
	page := flag.String("page", "", "the page to put the tables into")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "goodput: %q: there are no arguments\n", flag.Arg(0))
		os.Exit(2)
	}
	text, svg := report()
	fmt.Print(text)
	for _, err := range []error{write(*path, svg), replace(*page, text)} {
		if err != nil {
			fmt.Fprintln(os.Stderr, "goodput:", err)
			os.Exit(1)
		}
	}
}

// report is what there is to read, and to see.
func report() (text, svg string) {
	var names []string
	var results []result
	for _, s := range beside() {
		names = append(names, s.name)
		results = append(results, s.run())
	}
	text = "\n" + compared(names, results) + "\n" + sensitivity() + "\n" + needs() + "\n"
	return text, picture(names, results)
}

func write(path, content string) error {
	if path == "" {
		return nil
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

// begins is the line in the page after which the tables stand.
const begins = "<!-- printed by make goodput -->\n"

// replace puts what is printed into the page.
func replace(path, text string) error {
	if path == "" {
		return nil
	}
	return harness.Put(path, begins, text)
}
