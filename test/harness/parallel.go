package harness

import (
	"flag"
	"strconv"
)

// Parallel lets n tests of a package run at once that wait more than they work. It is for TestMain. What -parallel says has
// the last word, unless it says what is the default.
func Parallel(n int) {
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(n))
	}
}
