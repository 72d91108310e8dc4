package command

import (
	"fmt"
	"strings"
)

// nearest suggests the known name that a wrong one was probably meant to be, or "".
func nearest(name string, known []string) string {
	if best := nearestOf(name, known); best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return ""
}

// nearestOf is the known name that a wrong one was probably meant to be, or "". About a third of it may be wrong, since
// with more than that anything would fit; else it is the only name that begins like it. Leading dashes do not count, since
// every flag has them, nor does case.
func nearestOf(name string, known []string) string {
	best, at := "", 0
	bare := strings.ToLower(strings.TrimLeft(name, "-"))
	var begun []string
	for _, k := range known {
		to := strings.ToLower(strings.TrimLeft(k, "-"))
		if len(bare) > 1 && strings.HasPrefix(to, bare) {
			begun = append(begun, k)
		}
		d := distance(bare, to)
		if d < min(len(bare), len(to)) && 3*d <= max(len(bare), len(to))+1 && (best == "" || d < at) {
			best, at = k, d
		}
	}
	if best == "" && len(begun) == 1 {
		best = begun[0]
	}
	return best
}

// distance is the number of characters to insert, remove, replace, or swap with the next one, between a and b
// (optimal string alignment).
func distance(a, b string) int {
	var before []int // the row before the last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
