package exitcodes

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestGPU: what torch 2.11, NCCL 2.28, JAX 0.11, CuPy 14, Triton 3.6 and Lightning printed on an H200 when they were made to fail
// there by test/peers/provoke/gpu; two NCCL ranks shared it, told that they were on two hosts. INDEX.tsv says what was done, and
// what an engineer makes of it.
func TestGPU(t *testing.T) {
	cases := 0
	for _, fields := range table(t, "gpu/INDEX.tsv", 6) {
		file, verdict, reasons, evidence := fields[0], fields[2], strings.Split(fields[3], "||"), strings.Split(fields[4], "||")
		code, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		cases++
		t.Run(file, func(t *testing.T) {
			o := Outcome{Rank: -1, LocalRank: -1, Status: Status{Code: code}}
			if code > CodeSignalBase {
				o.Status = Status{Signal: code - CodeSignalBase}
			}
			if o.Output, err = os.ReadFile(filepath.Join("testdata/gpu", file)); err != nil {
				t.Fatal(err)
			}
			f := Judge(o, BuiltinRules())
			if string(f.Verdict) != verdict || reasons[0] != "-" && !slices.Contains(reasons, f.Reason) {
				t.Errorf("%s %s, want %s %q: %s", f.Verdict, f.Reason, verdict, reasons, f.Message)
			}
			if evidence[0] != "-" && !slices.ContainsFunc(evidence, func(e string) bool { return strings.Contains(f.Evidence, e) }) {
				t.Errorf("evidence %q, want one of %q", f.Evidence, evidence)
			}
		})
	}
	if cases < 50 {
		t.Errorf("%d cases", cases)
	}
}
