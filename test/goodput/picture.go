package main

import (
	"fmt"
	"strings"
)

// colours of what is lost, as readable on white as on black paper.
var colours = [phases]string{
	again: "#4c78a8", saving: "#72b7b2", detecting: "#e45756", stopping: "#b279a2",
	forming: "#f58518", starting: "#eeca3b", loading: "#9d755d",
}

// picture draws what is lost, a bar for each, on a scale from 0.
func picture(names []string, results []result) string {
	const left, wide, high, top = 270, 560, 34, 60
	most := 0.0
	for _, r := range results {
		most = max(most, 100-r.percent(useful))
	}
	scale := wide / most
	height := top + high*len(results) + 40
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 920 %d" `, height)
	b.WriteString(`font-family="sans-serif" font-size="13">` + "\n")
	b.WriteString("<title>What is lost of 54 days at Llama 3's failure rate, in percent of the time</title>\n")
	fmt.Fprintf(&b, `<rect width="920" height="%d" fill="#fff"/>`+"\n", height)
	x := 20
	for p := again; p < phases; p++ {
		fmt.Fprintf(&b, `<rect x="%d" y="16" width="12" height="12" fill="%s"/><text x="%d" y="27">%s</text>`+"\n",
			x, colours[p], x+17, spentOn[p])
		x += 34 + 8*len(spentOn[p])
	}
	for i, r := range results {
		y, at := top+high*i, float64(left)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-8, y+17, names[i])
		for p := again; p < phases; p++ {
			width := r.percent(p) * scale
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="24" fill="%s"/>`+"\n", at, y, width, colours[p])
			at += width
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" font-weight="bold">%.1f %%</text>`+"\n", at+6, y+17, r.percent(useful))
	}
	foot, line := top+high*len(results), left+(100-goal)*scale
	fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#222" stroke-dasharray="4 3"/>`+"\n", line, top-12, foot)
	fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%d %%</text>`+"\n", line, top-16, goal)
	fmt.Fprintf(&b, `<text x="%d" y="%d">`, left, foot+20)
	b.WriteString("What is lost, in percent of the time; in bold what is left for training</text>\n")
	b.WriteString("</svg>\n")
	return b.String()
}
