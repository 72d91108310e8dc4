package hang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/internal/words"
)

// Differ finds ranks that all stand in the same collective of a group, by its number, and have each called another one, or
// with another amount: then none of them comes back. The guilty one is the only one, of three or more, that differs from all
// others; -1 where there is none. why is empty where they do not differ.
func Differ(stands []Stand) (guilty int, why string) {
	w := newWaits(stands)
	for _, name := range slices.Sorted(maps.Keys(w.of)) {
		members := w.of[name]
		if who, why := differ(stands, members); why != "" {
			return who, why
		}
	}
	return -1, ""
}

func differ(stands []Stand, members []member) (guilty int, why string) {
	if len(members) < 2 {
		return -1, ""
	}
	var terms []string
	with := map[string][]member{}
	for _, m := range members {
		if m.Completed != members[0].Completed || m.Joined <= m.Completed || m.Terms == "" {
			return -1, ""
		}
		if with[m.Terms] == nil {
			terms = append(terms, m.Terms)
		}
		with[m.Terms] = append(with[m.Terms], m)
	}
	if len(terms) < 2 {
		return -1, ""
	}
	guilty = -1
	if len(terms) == 2 && len(members) > 2 {
		for _, t := range terms {
			if len(with[t]) == 1 {
				guilty = with[t][0].stand
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the ranks call different collectives as number %d of %s", members[0].Completed+1, members[0].What)
	for i, t := range terms[:min(len(terms), mostNamed)] {
		var names []string
		for _, m := range with[t] {
			names = append(names, stands[m.stand].Name)
		}
		fmt.Fprintf(&b, "%s %s %s", []string{":", ","}[min(i, 1)], words.Few(names), called(t, with[t][0].Call))
	}
	return guilty, b.String()
}

// called is a call by its terms, and where it was made if that is known.
func called(terms, call string) string {
	if _, at, found := strings.Cut(call, " ("); found {
		return terms + " (" + at
	}
	return terms
}
