package command

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// everyState is one checkpoint of each state.
func everyState() listing {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	return listing{Format: "hf_trainer", Chosen: "checkpoint-300", Checkpoints: []*format.Checkpoint{
		{Format: "hf_trainer+dcp", Path: "checkpoint-1200", Root: ".", Step: 1200, Reason: problem.InProgress, Size: 1 << 33,
			Detail: "checkpoint-1200/.metadata.tmp is there", Modified: ago(3 * time.Second), ShardsExpected: -1},
		{Format: "hf_trainer", Path: "checkpoint-900", Root: ".", Step: 900, Reason: problem.MissingShard, Size: 123456789,
			Detail: "checkpoint-900/model-00002-of-00003.safetensors is missing", Modified: ago(90 * time.Minute), ShardsExpected: 3, ShardsFound: 2},
		{Format: "hf_trainer", Path: "checkpoint-800", Root: ".", Step: 800, Reason: problem.Permission,
			Detail: "open checkpoint-800: permission denied"},
		{Format: "hf_trainer", Path: "checkpoint-700", Root: ".", Step: 700, Complete: true, Reason: problem.WeightsOnly, Size: 5 << 30,
			Detail: "no state of the optimizer", Modified: ago(26 * time.Hour)},
		{Format: "hf_trainer", Path: "checkpoint-600", Root: ".", Step: 600, Complete: true, Resumable: true, Size: 6 << 30,
			Modified: ago(-time.Hour), Elastic: true, WorldSize: 8, Level: format.Manifests},
		{Format: "hf_trainer", Path: "checkpoint-300", Root: ".", Tag: "checkpoint-300", Step: 300, StepFrom: format.StepFromName,
			Complete: true, Resumable: true, Basis: format.BasisManifest, Size: 6 << 30, Modified: ago(50 * time.Hour),
			ModifiedFrom: format.ModifiedMarker, ShardsExpected: 3, ShardsFound: 3, WorldSize: 8, RunID: "run1", Level: format.Manifests},
		{Format: "hf_trainer", Path: "evil\x1b]0;owned\a\nname\xff\u202e", Root: ".", Step: -1, Reason: problem.NoMarker, Size: 1,
			Detail: "evil\x1b[2J\nname is torn", Modified: ago(time.Hour)},
	}, passed: map[string]problem.Error{"checkpoint-600": {Reason: problem.WorldSizeMismatch, Detail: "8 ranks wrote it, and 4 would read it"}}}
}

// TestCheckpointTable has one row of every state, and names that would do something to a terminal.
func TestCheckpointTable(t *testing.T) {
	l := everyState()
	for name, colours := range map[string]bool{"table.txt": false, "table-colours.txt": true} {
		var rows []row
		for _, c := range l.Checkpoints {
			rows = append(rows, rowOf(c, l.passed[c.Path], c.Path == l.Chosen, noon))
		}
		var b strings.Builder
		writeTable(&b, rows, colours)
		goldenFile(t, name, b.String())
		for line := range strings.Lines(b.String()) {
			if !colours && len(line) > 121 {
				t.Errorf("%d columns: %s", len(line), line)
			}
		}
	}
}

// TestCheckpointJSON guards the keys, which programs read.
func TestCheckpointJSON(t *testing.T) {
	var b bytes.Buffer
	i := inspection{out: &b}
	if err := i.encode(everyState()); err != nil || !json.Valid(b.Bytes()) {
		t.Fatal(err)
	}
	goldenFile(t, "listing.json", b.String())
	b.Reset()
	if err := i.encode(listing{Checkpoints: []*format.Checkpoint{}}); err != nil {
		t.Fatal(err)
	}
	goldenFile(t, "empty.json", b.String())
}
