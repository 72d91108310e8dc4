package main

import (
	"fmt"
	"math"
	"strings"
)

// colours of the programs, as readable on white as on black paper.
var colours = []struct{ program, colour string }{
	{us, "#4c78a8"}, {"torchrun 2.15", "#e45756"}, {"ft_launcher 0.4.1", "#f58518"}, {"dlrover-run 0.6.1", "#b279a2"}, {"tini", "#72b7b2"},
}

// picture draws how many times as much as gangrun each peer needs: a bar for each, each tenfold the same width.
func picture(results []result) string {
	// Names end before what a tenth as long would take.
	const left, names, decade, thick, gap, top = 500, 392, 90, 13, 12, 48
	var b strings.Builder
	y := top
	bar := func(colour, text string, ratio float64) {
		width := math.Log10(ratio) * decade
		x := float64(left)
		if width < 0 {
			x, width = x+width, -width
		}
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, x, y, math.Max(width, 2), thick-2, colour)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" font-size="11">%s</text>`+"\n", math.Max(x+width, left)+6, y+10, text)
		y += thick
	}
	for _, r := range results {
		ours := r.medians[us]
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", names, y+10, strings.ReplaceAll(r.name, "`", ""))
		bar(colours[0].colour, plain(ours), 1)
		for i, p := range peers {
			if v, ok := r.of(p.names); ok {
				bar(colours[i+1].colour, fmt.Sprintf("%s: %s ×", plain(v), times(v/ours)), v/ours)
			}
		}
		y += gap
	}
	var head strings.Builder
	fmt.Fprintf(&head, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 920 %d" `, y+10)
	head.WriteString(`font-family="sans-serif" font-size="13">` + "\n<title>gangrun beside others: less is better</title>\n")
	fmt.Fprintf(&head, `<rect width="920" height="%d" fill="#fff"/>`+"\n", y+10)
	x := 20
	for _, c := range colours {
		fmt.Fprintf(&head, `<rect x="%d" y="14" width="12" height="12" fill="%s"/><text x="%d" y="25">%s</text>`+"\n", x, c.colour, x+17, c.program)
		x += 40 + 8*len(c.program)
	}
	fmt.Fprintf(&head, `<text x="%d" y="25" fill="#555">each tenfold the same width</text>`+"\n", x)
	return head.String() + b.String() + "</svg>\n"
}
