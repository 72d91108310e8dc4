package exitcodes

import (
	"bytes"
	"regexp"
)

// measured is an error as a training job reports it among its numbers: "class_error: 75.00", "Error = 1.13", "'TD Error': [0.4".
var measured func() *regexp.Regexp = lazy(`(?i)[\w-]*` + measure)

// measure is what of it is enough to know that there is one, and quickly: without the start of its name.
const measure = `error[\w-]*(?:['"]?\s*[:=]?|\s[\w()]+:)\s*[\[(]*[-+]?\d+\.\d+(?:e[-+]?\d+)?(?:[\s,;)\]}|%]|$)`

var hasMeasure = lazy(`(?i)` + measure)

// withoutMeasures is a line without the errors that it measures, and whether there were any.
func withoutMeasures(text []byte) ([]byte, bool) {
	if !hasDecimals(text) || !hasMeasure().Match(text) {
		return text, false
	}
	return measured().ReplaceAll(text, nil), true
}

// hasDecimals reports whether there is a number with decimals, as every measure is: most lines that are errors have none,
// and to find that out costs a fraction of the pattern.
func hasDecimals(text []byte) bool {
	digit := func(i int) bool { return i >= 0 && i < len(text) && '0' <= text[i] && text[i] <= '9' }
	for from := 0; ; from++ {
		i := bytes.IndexByte(text[from:], '.')
		if i < 0 {
			return false
		}
		from += i
		if digit(from-1) && digit(from+1) {
			return true
		}
	}
}
