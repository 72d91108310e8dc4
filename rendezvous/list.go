package rendezvous

import (
	"fmt"
	"strings"
)

// list names the first few of a list: "a, b and c".
func list(names []string) string { return strings.TrimSuffix(joinNames(names, "", ""), " ") }

// joinNames names the first few of a list, with a verb: "a, b and 7 more have".
func joinNames(names []string, one, many string) string {
	const most = 5
	verb := many
	if len(names) == 1 {
		verb = one
	}
	if len(names) > most {
		return fmt.Sprintf("%s and %d more %s", strings.Join(names[:most], ", "), len(names)-most, verb)
	}
	if n := len(names) - 1; n > 0 {
		return strings.Join(names[:n], ", ") + " and " + names[n] + " " + verb
	}
	return strings.Join(names, "") + " " + verb
}
