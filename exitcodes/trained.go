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
	from := r.lastTracked()
	for _, at := range r.work {
		for _, i := range at {
			l := &r.lines[i]
			if i < from {
				continue
			}
			if r.meter.afford(1, min(len(l.text), maxStepLine)) && countsRuns().Match(l.text[:min(len(l.text), maxStepLine)]) {
				return true
			}
			if (ofTraining(l.text) && !l.says(loads...) || bytes.Contains(l.text, []byte("%) "))) && r.meter.afford(1, len(l.text)) && countsSteps().Match(l.text) {
				return true
			}
		}
	}
	for i := len(r.lines) - 1; i >= from; i-- {
		l := &r.lines[i]
		if r.inside[i] {
			continue
		}
		if tellsLoss(l.text) && r.meter.afford(2, min(len(l.text), maxStepLine)) && stepped(l.text) || l.tellsDone(r.meter) {
			return true
		}
	}
	var bars []bar
	for _, i := range r.bars {
		if b, is := barOf(r.lines[i].text); is && i >= from {
			bars = append(bars, b)
		}
	}
	return barsOfTraining(bars)
}

// lastTracked is the line with which a tracker begins the last of several runs, one after the other, of which one before had ended of an
// exception; else 0. What those had done says nothing of the last one.
func (r *reader) lastTracked() int {
	for i := len(r.lines) - 1; i >= 0 && len(r.chains) > 0; i-- {
		if l := &r.lines[i]; l.says("wandb: Syncing run ", "wandb: Tracking run with ") {
			if c := &r.chains[0]; c.end < i && !c.ignored && !c.logged {
				return i
			}
			break
		}
	}
	return 0
}

// tellsLoss reports whether a line may tell a loss or an error; stepped, whether it tells that of a step that is not the first: one such
// line shows that steps were made, where others have to come again.
func tellsLoss(text []byte) bool {
	text = text[:min(len(text), maxStepLine)]
	return bytes.Contains(text, []byte("oss")) || bytes.Contains(text, []byte("top1")) || bytes.Contains(text, []byte("Err "))
}

func stepped(text []byte) bool {
	text = text[:min(len(text), maxStepLine)]
	return someLoss().Match(text) && laterStep().Match(text)
}

const maxStepLine = 400

var (
	// What a program calls the pieces of its work that is no loop over batches.
	countsRuns = lazy(`(?i)^\W*\d+(?:st|nd|rd|th) (?:run|trial|episode|round|fold|game|generation|iteration|epoch)\b|\b(?:run|trial|episode|game|generation|case) #?\d+\s*$`)
	someLoss   = lazy(`(?i)(?:loss\w*|\berr|\btop1)["')\]]*\s*[:=]?\s*'?(?:reached |improved )?\d+\.\d`) // transformers 5 quotes its numbers
	laterStep  = lazy(`(?i)\b(?:epochs?|(?:global[_ ])?steps?|iter(?:ation)?s?|batch(?:es)?)\b["')\]]*[\s:=#\[(]*'?0*(?:[1-9]|0\.\d*[1-9])|\[ *[1-9]\d* ?/ ?\d+(?: |\]|$)|^ *(?:[2-9]|[1-9]\d+)/\d+ \[`)
)

// showsSteps is trained for text that is read for nothing else: a bar, or three lines that count steps.
func showsSteps(text []byte) bool {
	var bars []bar
	counts, m := 0, newMeter(len(text))
	for one := range bytes.SplitSeq(bytes.ReplaceAll(text, []byte("\r"), []byte("\n")), []byte("\n")) {
		one = clipped(one)
		if b, is := barOf(one); is {
			bars = append(bars, b)
		} else if tellsLoss(one) && stepped(one) || lineOf(one).tellsDone(m) {
			return true
		} else if ofTraining(one) && countsSteps().Match(one) {
			counts++
		}
	}
	return counts > 2 || barsOfTraining(bars)
}

// lineOf is a line of text that is read for nothing else, as far as tellsDone asks.
func lineOf(text []byte) *line {
	l, h := &line{text: text}, wordings.in(bytes.ToLower(text))
	if h.any(wordsSteps) {
		l.traits |= traitSteps
	}
	if h.any(wordsSpeed) {
		l.traits |= traitSpeed
	}
	return l
}

// barsOfTraining reports whether a progress bar shows steps, also one that is drawn for the last time once an exception has ended
// its loop. A bar without a name that has come to its end before another one began is that of a preparation.
func barsOfTraining(bars []bar) bool {
	var last bar
	for _, b := range bars {
		switch {
		case len(b.label) > 0 && (!ofTraining(b.label) || (&line{text: b.label}).says(loads...)):
		case b.done >= 2 && len(b.label) > 0:
			return true
		case b.done >= 2:
			last = b
		case last.done == last.of && b.of != last.of:
			last = bar{}
		}
	}
	return last.done > 0
}

// trainWords are what the lines of a training loop speak of.
var trainWords = [][]byte{[]byte("epoch"), []byte("step"), []byte("iter"), []byte("loss"), []byte("train"), []byte("batch")}

// loads begin lines of a program that is not there yet.
var loads = []string{"Loading", "loading", "Downloading", "downloading", "Building", "building", "Initializing", "initializing", "Resolving", "resolving", "Map", "Tokeniz", "tokeniz", "Generating", "generating",
	"Preprocess", "preprocess", "Saving", "saving", "Encoding", "encoding", "Caching", "caching", "Packing", "packing"}

var countsSteps = lazy(`(?i)\b(?:epochs?|(?:global[_ ])?steps?|iter(?:ation)?s?|batch(?:es)?)\b["')\]]*\s*[:=#\[(]*\s*'?\d|\bloss\b["')\]]*\s*[:=]?\s*'?\d|\b\d+ ?/ ?\d+\b|^\s*[1-9]\d* \(\d+\.\d+%\) `) // the last is nerfstudio's row

func ofTraining(text []byte) bool {
	lower := bytes.ToLower(text[:min(len(text), 200)])
	for _, word := range trainWords {
		if bytes.Contains(lower, word) {
			return true
		}
	}
	return false
}

// bar is a progress bar: what it says before it, and how many are done of how many.
type bar struct {
	label    []byte
	done, of int
}

// barOf reads a progress bar of tqdm, Rich or Keras.
func barOf(text []byte) (b bar, is bool) {
	if m := kerasCount().FindSubmatch(text); m != nil {
		b.done, _ = strconv.Atoi(string(m[1]))
		b.of, _ = strconv.Atoi(string(m[2]))
		return b, true
	}
	label, rest, is := bytes.Cut(text, []byte("%|"))
	if is {
		label = bytes.TrimRight(label, "0123456789 ")
		if _, rest, is = bytes.Cut(rest, []byte("|")); !is {
			return bar{}, false
		}
	} else if at := bytes.IndexAny(text, richBar); at >= 0 {
		label, rest = text[:at], bytes.TrimLeft(text[at:], richBar+" ")
	} else if at := bytes.Index(text, []byte("% ")); at >= 0 && withRate().Match(text) { // a page has lost what it is drawn of
		label, rest = bytes.TrimRight(text[:at], "0123456789 "), text[at+2:]
	} else if m := plainBar().FindSubmatchIndex(text); m != nil { // without a percentage, or without an end: "29948it [35:34,  7.00s/it]"
		b.label = bytes.TrimRight(bytes.TrimSpace(text[:m[2]]), ":")
		b.done, _ = strconv.Atoi(string(text[m[2]:m[3]]))
		if m[4] >= 0 {
			b.of, _ = strconv.Atoi(string(text[m[4]:m[5]]))
		}
		return b, true
	} else {
		return bar{}, false
	}
	m := barCount().FindSubmatch(rest)
	if m == nil {
		return bar{}, false
	}
	if b.label = bytes.TrimRight(bytes.TrimSpace(label), ":"); ofEpoch().Match(b.label) {
		b.label = nil
	}
	var bad, worse error
	b.done, bad = strconv.Atoi(string(m[1]))
	b.of, worse = strconv.Atoi(string(m[2]))
	return b, bad == nil && worse == nil
}

// richBar is what Rich draws its bars of.
const richBar = "\u2501\u2578\u257a"

var kerasCount = lazy(`^\s*(\d+)/(\d+) (?:\[[=>.]|\x{2501})`)

var (
	withRate = lazy(`\d%\s+\d+/\d+ \[[\d:]+<[\d:?]+, +[\d.?]+(?:it/s|s/it)`)
	plainBar = lazy(`(?:^|[: ])(\d+)(?:/(\d+) \[[\d:]+<|it \[[\d:]+, )`)
	ofEpoch  = lazy(`^\d+/\d+(?: +[\d.]+[GM]?)*$`) // and its losses
)

var barCount func() *regexp.Regexp = lazy(`^\s*(\d+)/(\d+) (?:\[|\d+:\d)`)
