package main

import (
	"maps"
	"math"
	"slices"
)

const (
	penalty = 0.3 // for the square of a weight
	sweeps  = 150
	fewest  = 2 // that a word must be in, by the worth of its lines
)

// feature is a word in the lines that have it.
type feature struct {
	word   string
	lines  []int
	weight float64
}

// train is a logistic regression with a penalty for large weights. Each word in turn takes the step that a bound of the curvature
// allows, so that every step is downhill and the end depends on no rate.
func train(lines []line) map[string]float64 {
	features, scale := featuresOf(lines)
	score := make([]float64, len(lines))
	for range sweeps {
		for _, f := range features {
			slope, curve := penalty*f.weight, penalty
			if f.word == "" {
				slope, curve = 0, 0
			}
			for _, i := range f.lines {
				x, want := f.in(i, scale), 0.0
				if lines[i].yes {
					want = 1
				}
				slope += lines[i].worth * x * (1/(1+math.Exp(-score[i])) - want)
				curve += lines[i].worth * x * x / 4
			}
			step := -slope / curve
			f.weight += step
			for _, i := range f.lines {
				score[i] += step * f.in(i, scale)
			}
		}
	}
	weights := map[string]float64{}
	for _, f := range features {
		weights[f.word] = f.weight
	}
	return weights
}

// in is how much the word counts in line i: the more words a line has, the less each does.
func (f *feature) in(i int, scale []float64) float64 {
	if f.word == "" {
		return 1
	}
	return scale[i]
}

// featuresOf are the words of the lines, the empty one first, and by what each word of a line is scaled.
func featuresOf(lines []line) (features []*feature, scale []float64) {
	at := map[string][]int{}
	every := &feature{}
	for i, l := range lines {
		every.lines = append(every.lines, i)
		for _, w := range l.words {
			at[w] = append(at[w], i)
		}
	}
	features, scale = []*feature{every}, make([]float64, len(lines))
	for _, word := range slices.Sorted(maps.Keys(at)) {
		worth := 0.0
		for _, i := range at[word] {
			worth += max(1, lines[i].worth)
		}
		if worth >= fewest {
			features = append(features, &feature{word: word, lines: at[word]})
			for _, i := range at[word] {
				scale[i]++
			}
		}
	}
	for i := range scale {
		scale[i] = 1 / math.Sqrt(max(1, scale[i]))
	}
	return features, scale
}
