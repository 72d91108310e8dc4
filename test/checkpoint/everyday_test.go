package checkpoint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestEveryday starts a job on directories of loops that are put together by chance from habits: how saves are named, what is
// in them, what lies beside, what has happened to the last one. 60 of them, 2,000 with GANGRUN_TEST_LONG=1; the seed is
// GANGRUN_TEST_SEED.
func TestEveryday(t *testing.T) {
	parallel(t)
	seed := strconv.FormatUint(setting(t, "GANGRUN_TEST_SEED", 1)%1000000, 10)
	count := "60"
	if os.Getenv("GANGRUN_TEST_LONG") != "" {
		count = "2000"
	}
	script, err := filepath.Abs("testdata/everyday.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := []string{"OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" + harness.Peer(t, "savers")}
	r := harness.Run(t, 3*limit, env, harness.Peer(t, "torch/bin/python3"), script, dir, seed, count)
	data, err := os.ReadFile(filepath.Join(dir, "trees.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Stderr)
	}
	var written struct{ Trees []person }
	if err := json.Unmarshal(data, &written); err != nil {
		t.Fatal(err)
	}
	for _, p := range written.Trees {
		p.judge(t)
	}
}
