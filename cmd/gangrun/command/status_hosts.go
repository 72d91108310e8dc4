package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
)

// mostHosts is how many hosts are shown; the others are counted.
const mostHosts = 8

// showHosts writes on which hosts something went wrong, the banned ones first, and then by their scores.
func showHosts(w io.Writer, s agent.Status, now time.Time) {
	names := slices.Collect(maps.Keys(s.Hosts))
	slices.SortFunc(names, func(a, b string) int {
		x, y := s.Hosts[a], s.Hosts[b]
		switch {
		case x.Banned && !y.Banned:
			return -1
		case y.Banned && !x.Banned:
			return 1
		}
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(a, b))
	})
	for i, name := range names {
		if i == mostHosts {
			fmt.Fprintf(w, "and %d more hosts with faults\n", len(names)-i)
			break
		}
		h := s.Hosts[name]
		what := "host " + quoted(name) + ": score " + score(h.Score)
		if h.Banned {
			what = fmt.Sprintf("banned: host %s until %s (another %v), score %s; gangrun unban lifts it", quoted(name),
				h.Until.Format(rendezvous.BanTime), max(0, h.Until.Sub(now)).Round(time.Second), score(h.Score))
		}
		fmt.Fprintln(w, what)
		for _, f := range slices.Backward(h.Faults) {
			fmt.Fprintf(w, "  %v ago: %s\n", ago(now, f.At), plain.Text(f.String()))
		}
	}
}

// score is a score as people read it.
func score(points float64) string { return strconv.FormatFloat(points, 'f', 1, 64) }
