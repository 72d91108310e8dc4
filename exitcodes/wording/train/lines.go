package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/exitcodes/wording"
)

// line is a labelled line.
type line struct {
	words []string // keys, each once
	yes   bool     // the failure passes, or the line tells why
	worth float64
}

const (
	ownWorth     = 3 // of a line of exitcodes/testdata, which has to be right, beside one that people have posted
	writtenWorth = 2 // of a line of written.tsv
	elsewhat     = 3 // of all lines of a log that tell nothing, beside one that tells why
)

// raised are how a line may begin: that it is an exception's says nothing about whether it passes.
var raised = []string{"", "RuntimeError: ", "trainlib.errors.BackendFailure: "}

// own reads the lines of exitcodes/testdata, each with whether its failure passes. dir is the directory of package wording.
func own(dir string) (lines []line, err error) {
	verdicts := map[string]string{}
	for _, r := range exitcodes.BuiltinRules().All() {
		verdicts[r.Name] = string(r.Verdict)
	}
	said := func(row []string) string { return row[0] }
	for _, source := range []struct {
		file    string
		text    int // its column
		verdict func(row []string) string
	}{
		{"systems.tsv", 2, said},
		{"conditions.tsv", 3, said},
		{"samples.tsv", 1, func(row []string) string { return verdicts[row[0]] }},
		{"near.tsv", 1, func([]string) string { return "fatal" }},
		{"wording.tsv", 1, said},
	} {
		rows, err := table(filepath.Join(dir, "../testdata", source.file), source.text+1)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if verdict := source.verdict(row); verdict == "retry" || verdict == "fatal" {
				for _, raised := range raised {
					lines = append(lines, line{keys(raised + row[source.text]), verdict == "retry", ownWorth})
				}
			}
		}
	}
	return lines, nil
}

// posted reads posted.tsv: lines out of logs that people have posted or published, as the number of the log, the verdict where the line tells
// why ("-" where it does not, "either" where engineers differ, "unknown" where no line of the log does), where the log is from, and the line's words and marks.
func posted(dir string) (passing, telling []line, err error) {
	rows, err := table(filepath.Join(dir, "train/posted.tsv"), 4)
	if err != nil {
		return nil, nil, err
	}
	count := map[[2]string]float64{} // of lines in a log that tell why, or do not
	what := func(row []string) [2]string {
		return [2]string{row[0], fmt.Sprint(row[1] == "-" || row[1] == "unknown")}
	}
	for _, row := range rows {
		count[what(row)]++
	}
	for _, row := range rows {
		words := strings.Fields(row[3])
		unmarked := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w[0] == wording.Mark })
		switch row[1] {
		case "unknown":
			passing = append(passing, line{unmarked, false, 1})
			fallthrough
		case "-":
			telling = append(telling, line{words, false, elsewhat / (count[what(row)] + 1)})
			continue
		}
		telling = append(telling, line{words, true, 1 / count[what(row)]})
		if row[1] != "either" {
			passing = append(passing, line{unmarked, row[1] == "retry", 1})
		}
	}
	return passing, telling, nil
}

// written reads written.tsv: lines by which programs of many kinds would say why they ended, written from knowledge of how they speak,
// each with whether such a failure passes. Nobody has to be right about all of them: they lend the words, and posted lines the frequency.
func written(dir string) (lines []line, err error) {
	rows, err := table(filepath.Join(dir, "train/written.tsv"), 2)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		lines = append(lines, line{keys(row[1]), row[0] == "retry", writtenWorth})
	}
	return lines, nil
}

// table reads a file of rows with at least so many columns.
func table(file string, columns int) (rows [][]string, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for text := range strings.Lines(string(data)) {
		row := strings.Split(strings.TrimSuffix(text, "\n"), "\t")
		if len(row) < columns {
			return nil, fmt.Errorf("%s: %d columns of %d: %q", file, len(row), columns, text)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// keys are the different keys of the words of a text.
func keys(text string) (keys []string) {
	for _, w := range wording.Words(text) {
		keys = append(keys, w.Key)
	}
	slices.Sort(keys)
	return keys
}
