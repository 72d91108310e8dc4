// Probe is what the tests of this directory put under gangrun, and now and then in front of it: a small program that
// says what happens to it. It tells the test through file descriptor 3, one line a write, so that what it says does
// not depend on how its output is carried.
package main

import (
	"fmt"
	"os"
	"time"
)

// lifetime ends a probe that a failed test has left behind.
const lifetime = 2 * time.Minute

var commands = map[string]func(args []string){
	"log":      logSignals,
	"settled":  settled,
	"gate":     gate,
	"ctty":     ctty,
	"tty":      terminal,
	"chatter":  chatter,
	"orphan":   orphan,
	"headless": headless,
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fail("usage: probe log|settled|gate|ctty|tty|chatter|orphan|headless ...")
	}
	commands[os.Args[1]](os.Args[2:])
}

var events = os.NewFile(3, "events")

// tell writes one line for the test. A test that has stopped listening is no reason to stop.
func tell(format string, args ...any) {
	fmt.Fprintf(events, format+"\n", args...)
}

// fail ends the probe with a code that no test expects.
func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "probe: "+format+"\n", args...)
	os.Exit(98)
}
