package observe_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestGoodput measures one training run by gangrun report and by Google's ml-goodput-measurement. Where the two mean
// the same they agree within a second; the others are shown side by side.
func TestGoodput(t *testing.T) {
	t.Parallel()
	python := harness.Peer(t, "goodput/bin/python3")
	script, _ := filepath.Abs("testdata/goodput.py")
	dir := t.TempDir()
	env := []string{"HOME=" + dir}
	trained := harness.Run(t, 2*limit, env, harness.Binary(t), "local", "--framework", "none", "--events", dir+"/events",
		"--restart-backoff", "0s", "--", python, script, "train", dir+"/log")
	if trained.Code != 0 {
		t.Fatalf("%d %s %s", trained.Code, trained.Stdout, trained.Stderr)
	}
	measured := harness.Run(t, 2*limit, env, python, script, "measure", dir+"/log")
	reported := harness.Run(t, limit, nil, harness.Binary(t), "report", "-o", "json", dir+"/events")
	if measured.Code != 0 || reported.Code != 0 {
		t.Fatalf("%s %s", measured.Stderr, reported.Stderr)
	}
	var theirs struct {
		Productive, Elapsed float64
		Disruptions, Step   int
		Badput              map[string]float64
	}
	var ours struct {
		ProductiveSeconds, ElapsedSeconds float64
		Step                              int
		Disruptions                       []struct{}
		Words                             struct{ MlGoodputMeasurement map[string]float64 }
	}
	for text, into := range map[string]any{measured.Stdout: &theirs, reported.Stdout: &ours} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	words := ours.Words.MlGoodputMeasurement
	const lost = "WASTED_PROGRESS_FROM_DISRUPTION"
	for what, both := range map[string][2]float64{
		"productive": {ours.ProductiveSeconds, theirs.Productive}, lost: {words[lost], theirs.Badput[lost]},
		"disruptions": {float64(len(ours.Disruptions)), float64(theirs.Disruptions)}, "step": {float64(ours.Step),
			float64(theirs.Step)},
	} {
		if math.Abs(both[0]-both[1]) > 1 || both[1] == 0 {
			t.Errorf("%s: %v, and %v by Google", what, both[0], both[1])
		}
	}
	// Google's job begins when the training says so, in Python; gangrun's begins with gangrun.
	t.Logf("elapsed: %v, and %v by Google", ours.ElapsedSeconds, theirs.Elapsed)
	for _, name := range []string{"PROGRAM_STARTUP", "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION",
		"UNPRODUCTIVE_CHECKPOINT_SAVE_TIME", "OTHER"} {
		t.Logf("%s: %v, and %v by Google", name, words[name], theirs.Badput[name])
	}
	t.Logf("productive: %v, %v; lost: %v, %v", ours.ProductiveSeconds, theirs.Productive, words[lost], theirs.Badput[lost])
}
