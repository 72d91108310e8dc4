package wording

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTable reads the embedded weights, whose reader does not complain of an invalid number. They are those of weights.tsv.
func TestTable(t *testing.T) {
	if plain, err := os.ReadFile("weights.tsv"); err != nil || string(plain) != table() {
		t.Errorf("weights.tsv.gz is not weights.tsv (%v): go generate ./exitcodes/wording", err)
	}
	last := ""
	for row := range strings.Lines(table()) {
		field := strings.Split(strings.TrimSuffix(row, "\n"), "\t")
		if len(field) != 3 {
			t.Fatalf("weights.tsv: %q", row)
		}
		for _, number := range field[1:] {
			if w, err := strconv.ParseFloat(number, 64); err != nil || math.Abs(w) > 20 {
				t.Errorf("weights.tsv: %q: %v", row, err)
			}
		}
		if field[0] != "" && field[0] <= last {
			t.Errorf("weights.tsv: %q is not in order", field[0])
		}
		last = field[0]
	}
	if n := len(weights()); n < 2000 {
		t.Errorf("only %d words", n)
	}
}

// TestWeigh has lines that no data has: the words of passing failures, of those that come back, and of nothing.
func TestWeigh(t *testing.T) {
	for text, passes := range map[string]bool{
		"BackendError: gave up waiting for the simulator, no response from 10.0.0.7 within 300 seconds": true,
		"lost the link to the parameter server while sending gradients: peer went away":                 true,
		"the object store is temporarily overloaded, connection dropped by the remote host":             true,
		"ConfigError: the argument hidden_size must be divisible by num_heads":                          false,
		"expected an input with 3 dimensions but got a tensor of shape (4, 7)":                          false,
		"no such column in the table: label, check the name of the field":                               false,
		"odd":              false,
		"":                 false,
		"RuntimeError: ":   false,
		"timeout":          false, // alone it may be an option's name
		"0x7f3a 12 34 5.6": false,
	} {
		if w := Weigh(text); w.Passes() != passes {
			t.Errorf("%q: %.2f by %q", text, w.Score, w.Words)
		}
	}
	if w := Weigh("connection refused by the server after a timeout"); len(w.Words) != mostShown || !slices.Contains(w.Words, "timeout") {
		t.Errorf("shown: %q", w.Words)
	}
}

// TestWords splits names and cuts what is long.
func TestWords(t *testing.T) {
	var got []string
	for _, w := range Words("HTTPConnectionError(503): retrying, Retrying 17 times " + strings.Repeat("x", 31)) {
		got = append(got, w.Key)
	}
	if want := []string{"httpcon", "http", "connect", "error", "503", "retryin", "times"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzWords splits any text into bounded, different words.
func FuzzWords(f *testing.F) {
	f.Add("ConnectionError: timed out")
	f.Add("\xff\x00ABCdefGHI 404")
	f.Fuzz(func(t *testing.T, text string) {
		words := Words(text)
		seen := map[string]bool{}
		for _, w := range words {
			if seen[w.Key] || len(w.Key) > keyLength || w.Key == "" || len(w.Text) > maxLetter || !utf8.ValidString(w.Key) {
				t.Fatalf("%q in %q", w, text)
			}
			seen[w.Key] = true
		}
		if w := Weigh(text); len(words) > maxWords || math.IsNaN(w.Score) || math.Abs(w.Score) > 200 || len(w.Words) > mostShown {
			t.Fatalf("%v of %q", w, text)
		}
	})
}
