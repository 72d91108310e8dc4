package main

import (
	"bufio"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestWeightsAreTrained has weights.tsv be what training makes of the lines that are there now. Another processor may round
// the last digit differently.
func TestWeightsAreTrained(t *testing.T) {
	costly(t)
	want, err := weigh("..")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../weights.tsv")
	if err != nil {
		t.Fatal(err)
	}
	have, make := rows(string(data)), rows(want)
	for word, w := range make {
		h, found := have[word]
		if edge := math.Abs(w[0])+math.Abs(w[1]) < 4*least; !found && edge {
			continue
		}
		if math.Abs(h[0]-w[0]) > 0.03 || math.Abs(h[1]-w[1]) > 0.03 {
			t.Fatalf("weights.tsv has %v for %q, training makes %v: go generate ./exitcodes/wording", h, word, w)
		}
	}
	for word := range have {
		if _, found := make[word]; !found && math.Abs(have[word][0])+math.Abs(have[word][1]) > 4*least {
			t.Fatalf("weights.tsv has %q, of which training knows nothing: go generate ./exitcodes/wording", word)
		}
	}
}

func rows(text string) map[string][2]float64 {
	m := map[string][2]float64{}
	for in := bufio.NewScanner(strings.NewReader(text)); in.Scan(); {
		field := strings.Split(in.Text(), "\t")
		a, _ := strconv.ParseFloat(field[1], 64)
		b, _ := strconv.ParseFloat(field[2], 64)
		m[field[0]] = [2]float64{a, b}
	}
	return m
}

// TestTrain learns which of three words decides.
func TestTrain(t *testing.T) {
	var lines []line
	for i := range 40 {
		lines = append(lines, line{[]string{[]string{"lost", "shape"}[i%2], "error"}, i%2 == 0, 1})
	}
	w := train(lines)
	if w["lost"] < 1 || w["shape"] > -1 || math.Abs(w["error"]) > 0.1 {
		t.Errorf("%v", w)
	}
}

// TestGeneralises trains on the posted lines of four logs in five, and weighs those of the fifth: what is learnt is the language
// of failures and not these lines.
func TestGeneralises(t *testing.T) {
	costly(t)
	passing, _, err := posted("..")
	if err != nil {
		t.Fatal(err)
	}
	mine, err := own("..")
	if err != nil {
		t.Fatal(err)
	}
	right, all := 0, 0
	for fold := range 5 {
		lines, rest := slices.Clone(mine), []line(nil)
		for i, l := range passing {
			if i*5/len(passing) == fold { // neighbours are of one log
				rest = append(rest, l)
			} else {
				lines = append(lines, l)
			}
		}
		weights := train(lines)
		for _, l := range rest {
			sum, n := 0.0, 0
			for _, w := range l.words {
				if weight, found := weights[w]; found {
					sum, n = sum+weight, n+1
				}
			}
			if score := weights[""] + sum/math.Sqrt(float64(max(1, n))); score > 0 == l.yes {
				right++
			}
			all++
		}
	}
	t.Logf("%d of %d lines are right by words alone, by weights that had not seen their log", right, all)
	if right*100 < all*90 {
		t.Errorf("only %d of %d", right, all)
	}
}

// costly skips a test as harness.Costly does.
func costly(t *testing.T) {
	if testing.Short() && os.Getenv("CI")+os.Getenv("GANGRUN_TEST_REQUIRE")+os.Getenv("GANGRUN_TEST_LONG") == "" {
		t.Skip("takes many seconds of a processor: make test-long")
	}
}
