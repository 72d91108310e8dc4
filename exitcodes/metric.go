package exitcodes

import "regexp"

// measured is an error as a training job reports it among its numbers: "class_error: 75.00", "Error = 1.13", "'TD Error': [0.4".
var measured func() *regexp.Regexp = lazy(`(?i)[\w-]*` + measure)

// measure is what of it is enough to know that there is one, and quickly: without the start of its name.
const measure = `error[\w-]*(?:['"]?\s*[:=]?|\s[\w()]+:)\s*[\[(]*[-+]?\d+\.\d+(?:e[-+]?\d+)?(?:[\s,;)\]}|%]|$)`

var hasMeasure = lazy(`(?i)` + measure)

// withoutMeasures is a line without the errors that it measures, and whether there were any.
func withoutMeasures(text []byte) ([]byte, bool) {
	if !hasMeasure().Match(text) {
		return text, false
	}
	return measured().ReplaceAll(text, nil), true
}
