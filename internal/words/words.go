// Package words has the small pieces of sentences that several packages write, and names the settings that lines of the log
// are about.
package words

import (
	"fmt"
	"strings"
)

// few is how many names a sentence lists.
const few = 4

// Few lists names, bounded.
func Few(names []string) string {
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}

// Count is a number of things: 1 node, 2 nodes.
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
