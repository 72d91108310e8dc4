package command

import (
	"fmt"
	"strings"
)

// nearest suggests the known name that a wrong one was probably meant to be, or "". About a third of it may be wrong:
// of more than that anything could be made. Dashes before it do not count, since every flag has them.
func nearest(name string, known []string) string {
	best, at := "", 0
	bare := strings.TrimLeft(name, "-")
	for _, k := range known {
		to := strings.TrimLeft(k, "-")
		d := distance(bare, to)
		if d < min(len(bare), len(to)) && 3*d <= max(len(bare), len(to))+2 && (best == "" || d < at) {
			best, at = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// distance is the number of characters to insert, remove or replace between a and b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
