// Package wording judges lines that no rule and no family knows by the words in them: which line of an output tells why it ended,
// and whether that is a failure that passes (timeout, reset, unavailable) or one that comes back (shape, argument, expected).
//
// It is a logistic regression over words, the plainest model there is: each word has one weight, a line's score is the sum
// of its words' over the square root of their number, and nobody who reads a verdict has to take more on trust than the
// words that are shown with it. weights.tsv is made from labelled lines by "go generate ./exitcodes/wording".
package wording

import (
	"compress/gzip"
	_ "embed"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:generate go run ./train

//go:embed weights.tsv.gz
var packed string

// table is the text of weights.tsv, which is packed in the program: it is a third as large so.
func table() string {
	in, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		panic("weights.tsv.gz: " + err.Error()) // TestTable reads it, too
	}
	text, err := io.ReadAll(in)
	if err != nil {
		panic("weights.tsv.gz: " + err.Error())
	}
	return string(text)
}

// weight is how much a word says that a failure passes, and that its line tells why.
type weight struct{ passes, tells float64 }

// weights has the weight of each word; of the empty word, that of every line. They are read when the first line is weighed: most
// runs never need them.
var weights = sync.OnceValue(read)

func read() map[string]weight {
	text := table()
	m := make(map[string]weight, strings.Count(text, "\n"))
	for row := range strings.Lines(text) {
		word, numbers, _ := strings.Cut(strings.TrimSuffix(row, "\n"), "\t")
		first, second, _ := strings.Cut(numbers, "\t")
		passes, _ := strconv.ParseFloat(first, 64) // TestTable reads them, too
		tells, _ := strconv.ParseFloat(second, 64)
		m[word] = weight{passes, tells}
	}
	return m
}

// Mark begins a mark, which stands for something that is known of a line beside its words.
const Mark = '='

// Tells is how much the words and marks of a line say that it tells why: the logarithm of the odds.
func Tells(words []string) float64 {
	known := weights()
	sum, n := 0.0, 0
	for _, word := range words {
		if w, found := known[word]; found {
			sum += w.tells
			n++
		}
	}
	return known[""].tells + sum/math.Sqrt(float64(max(1, n)))
}

// Passing is the least score of a line that tells of a failure that passes. It stands above 0, where both are as likely,
// since a verdict by words alone should be a clear one.
const Passing = 0.5

// Weight is what a line's words say of the failure that it tells of.
type Weight struct {
	Score float64  // the logarithm of the odds that it passes
	Words []string // those that speak for that most, at most three
	known int      // how many of its words have a weight
}

// Passes reports whether the failure passes, as far as words tell: a few alone tell nothing.
func (w Weight) Passes() bool { return w.Score >= Passing && len(w.Words) > 0 && w.known >= fewWords }

const (
	mostShown = 3
	fewWords  = 5
)

// Weigh weighs the words of a text. It reads at most the first [MaxText] bytes.
func Weigh(text string) Weight {
	known := weights()
	words := slices.DeleteFunc(Words(text), func(w Word) bool { _, found := known[w.Key]; return !found })
	slices.SortStableFunc(words, func(a, b Word) int {
		switch x, y := known[a.Key].passes, known[b.Key].passes; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	weight, sum := Weight{known: len(words)}, 0.0
	for i, w := range words {
		passes := known[w.Key].passes
		if sum += passes; i < mostShown && passes > 0 {
			weight.Words = append(weight.Words, w.Text)
		}
	}
	weight.Score = known[""].passes + sum/math.Sqrt(float64(max(1, len(words))))
	return weight
}
