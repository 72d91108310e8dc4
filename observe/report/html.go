package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
)

// span is a node's time in one phase.
type span struct {
	node  string
	from  time.Time
	to    time.Time // zero: until the next of this process, or its last event
	phase account.Phase
	round int
	src   string
}

// point is a step that was reached.
type point struct {
	at   time.Time
	step int64
}

// mostShapes bounds the picture: a browser has to draw it.
const mostShapes = 4000

// spanned notes that a process has come into another phase.
func (r *Report) spanned(e event.Event, p account.Phase, at time.Time) {
	for i := len(r.spans) - 1; i >= 0; i-- {
		if r.spans[i].src == e.Source {
			r.spans[i].to = at
			break
		}
	}
	if p == account.Ended || len(r.spans) >= mostShapes {
		return
	}
	s := span{node: e.Node, from: at, phase: p, round: -1, src: e.Source}
	if e.Round != nil {
		s.round = *e.Round
	}
	r.spans = append(r.spans, s)
}

//go:embed report.html
var page string

// HTML writes the report as one file that needs no other. The error is that of w.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"took": took, "percent": func(share *float64) string { return percent(*share) }, "short": short, "plain": plain.Text, "most": most,
		"share":  func(seconds float64) float64 { return 100 * seconds / max(r.NodeTime, 0.001) },
		"google": func(s account.Source) string { return googles[s] },
	}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, struct {
		*Report
		Sources []sourceRow
		Lines   []line
		Curve   string
	}{r, r.rows(), r.lines(), r.polyline()})
}

// sourceRow is a source of badput with its seconds.
type sourceRow struct {
	Source  account.Source
	Seconds float64
}

func (r *Report) rows() (rows []sourceRow) {
	for _, s := range account.Sources() {
		if r.Badput[s] > 0 {
			rows = append(rows, sourceRow{s, r.Badput[s]})
		}
	}
	slices.SortStableFunc(rows, func(a, b sourceRow) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return rows
}

// line is one node on the time line, in parts of a thousand.
type line struct {
	Node  string
	Parts []part
}

type part struct {
	X, Width float64
	Phase    account.Phase
	Title    string
}

func (r *Report) x(at time.Time) float64 {
	return round(1000 * at.Sub(r.StartedAt).Seconds() / max(r.Elapsed, 0.001))
}

func (r *Report) lines() (lines []line) {
	for _, n := range r.Nodes {
		l := line{Node: n.Node}
		for _, s := range r.spans {
			if s.node != n.Node {
				continue
			}
			to := s.to
			if to.IsZero() {
				to = r.At
			}
			title := fmt.Sprintf("%s: %s for %s", n.Node, s.phase, took(to.Sub(s.from).Seconds()))
			if s.round >= 0 {
				title += fmt.Sprintf(", round %d", s.round)
			}
			l.Parts = append(l.Parts, part{r.x(s.from), max(r.x(to)-r.x(s.from), 0.5), s.phase, title})
		}
		lines = append(lines, l)
	}
	return lines
}

// polyline is the curve of steps, thinned out.
func (r *Report) polyline() string {
	const mostPoints = 1000
	if r.StepMax == nil || *r.StepMax == 0 {
		return ""
	}
	points := slices.Clone(r.curve)
	slices.SortStableFunc(points, func(a, b point) int { return a.at.Compare(b.at) })
	every := len(points)/mostPoints + 1
	var b strings.Builder
	for i, p := range points {
		if i%every == 0 || i == len(points)-1 {
			fmt.Fprintf(&b, "%.1f,%.1f ", r.x(p.at), 100-100*float64(p.step)/float64(*r.StepMax))
		}
	}
	return b.String()
}
