// Command train makes the weights of package wording from labelled lines: those of exitcodes/testdata, and the words of lines that
// people have posted (posted.tsv).
//
//	go generate ./exitcodes/wording
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

// run trains in dir, the directory of package wording.
func run(dir string) error {
	weights, err := weigh(dir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "weights.tsv"), []byte(weights), 0o644); err != nil {
		return err
	}
	packed, err := pack(weights)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "weights.tsv.gz"), packed, 0o644)
}

// pack compresses the text that the program has in it. It has no name and no time, so that the same text is the same bytes.
func pack(text string) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write([]byte(text)); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// weigh is the text of weights.tsv: each word with how much it says that a failure passes, and that its line tells why. The empty word
// is in every line. What weighs next to nothing is left out.
func weigh(dir string) (string, error) {
	passing, telling, err := posted(dir)
	if err != nil {
		return "", err
	}
	mine, err := own(dir)
	if err != nil {
		return "", err
	}
	more, err := written(dir)
	if err != nil {
		return "", err
	}
	passes, tells := train(slices.Concat(passing, mine, more)), train(telling)
	var b strings.Builder
	for _, word := range slices.Sorted(maps.Keys(both(passes, tells))) {
		if p, t := passes[word], tells[word]; word == "" || max(p, -p, t, -t) >= least {
			fmt.Fprintf(&b, "%s\t%.2f\t%.2f\n", word, p, t)
		}
	}
	return b.String(), nil
}

const least = 0.32

func both(a, b map[string]float64) map[string]float64 {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}
