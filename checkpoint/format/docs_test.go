package format

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestDocs compares the table of formats in docs/checkpoints.md with the formats that there are, in their order.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/checkpoints.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [^|]+ \\| [^|]+ \\| (?:`([^`|]+)`)? \\| (yes|no) \\|$")
	var got, want [][3]string
	for _, r := range row.FindAllSubmatch(page, -1) {
		got = append(got, [3]string{string(r[1]), string(r[2]), string(r[3])})
	}
	for _, k := range kinds {
		w := [3]string{k.name, "", "no"}
		if k.pointer != nil {
			w[1] = k.pointer.Name
		}
		if k.movable {
			w[2] = "yes"
		}
		want = append(want, w)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the page has %q,\nwant %q", got, want)
	}
}
