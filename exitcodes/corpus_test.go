package exitcodes

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// testdata/logs holds what real programs printed when they were made to fail (test/peers/provoke), and INDEX.tsv what
// was done to them and how they ended. testdata/verdicts.tsv says what is made of each: read every change of it.
func TestVerdictsOnRealOutput(t *testing.T) {
	var b strings.Builder
	for _, c := range corpus(t) {
		f := Judge(c.outcome, BuiltinRules())
		fmt.Fprintf(&b, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", c.file, c.exit, f.Verdict, f.Code, f.Reason, f.Rule, clip(f.Evidence))
	}
	const golden = "testdata/verdicts.tsv"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got, old := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(old)) {
		if i >= len(got) || i >= len(old) || got[i] != old[i] {
			t.Fatalf("line %d of %s: got\n%s\nUPDATE_GOLDEN=1 rewrites it", i+1, golden, got[min(i, len(got)-1)])
		}
	}
}

type realCase struct {
	file, exit string
	outcome    Outcome
}

func corpus(t *testing.T) []realCase {
	t.Helper()
	index, err := os.ReadFile("testdata/logs/INDEX.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var cases []realCase
	for line := range strings.Lines(string(index)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 4 || !strings.HasSuffix(fields[0], ".log") {
			continue
		}
		status, ok := parseStatus(fields[3])
		if !ok {
			continue // it had to be ended by hand
		}
		c := realCase{fields[0], fields[3], Outcome{Rank: -1, LocalRank: -1, Status: status}}
		if c.outcome.Output, err = os.ReadFile(filepath.Join("testdata/logs", c.file)); err != nil {
			t.Fatal(err)
		}
		// There is one beside the log only where the program wrote it.
		c.outcome.ErrorFile, _ = os.ReadFile(filepath.Join("testdata/logs", strings.TrimSuffix(c.file, ".log")+".error.json"))
		cases = append(cases, c)
	}
	if len(cases) < 100 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

// parseStatus reads an exit code, or the name of the signal that killed the program.
func parseStatus(s string) (Status, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return Status{Code: n}, n >= 0 && n < 256
	}
	n, err := ParseSignal(s)
	return Status{Signal: n}, err == nil
}
