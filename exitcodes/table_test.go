package exitcodes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// table reads the rows of a file in testdata, whose fields are separated by tabs; the last may have some of its own.
func table(t testing.TB, file string, fields int) (rows [][]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", fields)
		if len(row) != fields {
			t.Fatalf("%s: %q", file, line)
		}
		rows = append(rows, row)
	}
	return rows
}

// unfolded is a text of several lines that stands in one field.
var unfolded = strings.NewReplacer(`\n`, "\n", `\t`, "\t")
