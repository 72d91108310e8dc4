package exitcodes

import (
	"bytes"
	"regexp"
	"strconv"
)

// trained reports whether the output shows that training had made steps, for a worker that tells none: lines of a training loop,
// which may have been kept in a buffer and come late, or its progress bar. What else is repeated while a program begins, as the
// loading of shards, is no step.
func (r *reader) trained() bool {
	for _, at := range r.work {
		for _, i := range at {
			if l := &r.lines[i]; ofTraining(l.text) && !l.says(loads...) && r.meter.afford(1, len(l.text)) && countsSteps().Match(l.text) {
				return true
			}
		}
	}
	for _, i := range r.bars { // also one that is drawn for the last time once an exception has ended its loop
		l := &r.lines[i]
		label, count, is := barOf(l.text)
		if is && count >= 2 && (len(label) == 0 || ofTraining(label)) {
			return true
		}
	}
	return false
}

// trainWords are what the lines of a training loop speak of.
var trainWords = [][]byte{[]byte("epoch"), []byte("step"), []byte("iter"), []byte("loss"), []byte("train"), []byte("batch")}

// loads begin lines of a program that is not there yet.
var loads = []string{"Loading", "loading", "Downloading", "Building", "Initializing", "Resolving", "Map", "Tokeniz", "Generating", "Preprocess", "Saving"}

var countsSteps = lazy(`(?i)\b(?:epochs?|(?:global[_ ])?steps?|iter(?:ation)?s?|batch(?:es)?)\b["')\]]*\s*[:=#\[(]*\s*\d|\bloss\b["')\]]*\s*[:=]?\s*\d|\b\d+ ?/ ?\d+\b`)

func ofTraining(text []byte) bool {
	lower := bytes.ToLower(text[:min(len(text), 200)])
	for _, word := range trainWords {
		if bytes.Contains(lower, word) {
			return true
		}
	}
	return false
}

// barOf reads a progress bar, of tqdm or Rich: its label, and how many are done.
func barOf(text []byte) (label []byte, count int, is bool) {
	label, rest, is := bytes.Cut(text, []byte("%|"))
	if is {
		label = bytes.TrimRight(label, "0123456789 ")
		if _, rest, is = bytes.Cut(rest, []byte("|")); !is {
			return nil, 0, false
		}
	} else {
		at := bytes.IndexAny(text, richBar)
		if at < 0 {
			return nil, 0, false
		}
		label, rest = text[:at], bytes.TrimLeft(text[at:], richBar+" ")
	}
	m := barCount().FindSubmatch(rest)
	if m == nil {
		return nil, 0, false
	}
	count, err := strconv.Atoi(string(m[1]))
	return bytes.TrimRight(bytes.TrimSpace(label), ":"), count, err == nil
}

// richBar is what Rich draws its bars of.
const richBar = "\u2501\u2578\u257a"

var barCount func() *regexp.Regexp = lazy(`^\s*(\d+)/\d+ (?:\[|\d+:\d)`)
