package exitcodes

import "regexp"

// measured is an error as a training job reports it among its numbers: "class_error: 75.00", "Error = 1.13", "'TD Error': [0.4".
var measured func() *regexp.Regexp = lazy(`(?i)[\w-]*error[\w-]*(?:['"]?\s*[:=]?|\s[\w()]+:)\s*[\[(]*[-+]?\d+\.\d+(?:e[-+]?\d+)?(?:[\s,;)\]}|%]|$)`)

// withoutMeasures is a line without the errors that it measures, and whether there were any.
func withoutMeasures(text []byte) ([]byte, bool) {
	if !measured().Match(text) {
		return text, false
	}
	return measured().ReplaceAll(text, nil), true
}
