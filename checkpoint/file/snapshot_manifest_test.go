package file

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

func snapshotOf(t testing.TB, text []byte) (*Snapshot, error) {
	return ReadSnapshot(bytes.NewReader(text), int64(len(text)))
}

func TestSnapshotSample(t *testing.T) {
	text := sample(t, "torchsnapshot/snapshot_metadata.json")
	s, err := snapshotOf(t, text)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]SnapshotFile{
		"0/o/param_groups/0/betas": {Saved: true}, "0/o/param_groups/0/foreach": {Saved: true},
		"0/o/param_groups/0/fused": {Saved: true}, "0/p/obj": {Saved: true},
		"batched/dc6ecebd-f1d4-4d25-8cdf-ebe1d8605189": {Size: 128},
	}
	if s.WorldSize != 1 || !s.Alone || !maps.Equal(s.Files, want) {
		t.Errorf("%+v", s)
	}
	// The form before version 0.1 says the same.
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	old, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = snapshotOf(t, old); err != nil || s.WorldSize != 1 || !s.Alone || !maps.Equal(s.Files, want) {
		t.Errorf("%+v, %v", s, err)
	}
	for n := range text {
		if _, err := snapshotOf(t, text[:n]); reasonOf(t, err) == "" {
			t.Fatalf("nothing is wrong with %d of %d bytes", n, len(text))
		}
	}
}

func TestSnapshotEntries(t *testing.T) {
	manifest := func(entries string) string {
		return `{"version": "0.1.0", "world_size": 2, "manifest": {"0/x": {"type": "dict", "keys": [0, "a"]}` + entries + "}}"
	}
	tensor := `{"type":"Tensor","location":%q,"serializer":"buffer_protocol","dtype":"torch.bfloat16","shape":[2,3],"replicated":true,"byte_range":null}`
	first, second := fmt.Sprintf(tensor, "sharded/a_0_0"), fmt.Sprintf(tensor, "sharded/a_2_0")
	for _, test := range []struct {
		name, text string
		files      map[string]SnapshotFile
		alone      bool
		want       problem.Reason
	}{
		{"nothing but a dictionary", manifest(""), nil, false, ""},
		{"replicated", manifest(`,"0/x/t":` + first), map[string]SnapshotFile{"sharded/a_0_0": {12, true, false}}, false, ""},
		{"sharded", manifest(`,"0/x/t":{"type":"ShardedTensor","shards":[{"offsets":[0,0],"sizes":[2,3],"tensor":` + first +
			`}]},"1/x/t":{"type":"ShardedTensor","shards":[{"tensor":` + second + `}]}`),
			map[string]SnapshotFile{"sharded/a_0_0": {12, true, false}, "sharded/a_2_0": {12, true, false}}, false, ""},
		{"in chunks", manifest(`,"0/x/t":{"type":"ChunkedTensor","replicated":false,"chunks":[{"tensor":` + first + `}]}`),
			map[string]SnapshotFile{"sharded/a_0_0": {12, true, false}}, true, ""},
		{"a number of one rank", manifest(`,"0/x/n":{"type":"int","serialized_value":"3","replicated":false,"readable":null}`), nil, true, ""},
		{"a range from behind", manifest(`,"0/x/t":{"type":"Tensor","location":"a","byte_range":[4,2]}`), nil, false, problem.BadJSON},
		{"a range of three", manifest(`,"0/x/t":{"type":"Tensor","location":"a","byte_range":[1,2,3]}`), nil, false, problem.BadJSON},
		{"too large a shape", manifest(`,"0/x/t":` + strings.Replace(first, "[2,3]", "[4294967296,4294967296]", 1)), nil, false, problem.BadJSON},
		{"a negative shape", manifest(`,"0/x/t":` + strings.Replace(first, "[2,3]", "[-1]", 1)), nil, false, problem.BadJSON},
		{"no world", `{"manifest": {}}`, nil, false, problem.BadJSON},
		{"a list", `[]`, nil, false, problem.BadJSON},
		{"two objects", manifest("") + manifest(""), nil, false, problem.BadJSON},
		{"empty", "", nil, false, problem.EmptyFile},
		{"zeros", "\x00\x00\x00\x00", nil, false, problem.BadJSON},
		{"cut", manifest("")[:60], nil, false, problem.Truncated},
		{"one long value", `{"world_size": 2, "version": "` + strings.Repeat("x", 10<<20) + `"}`, nil, false, ""},
		{"a long location", manifest(`,"0/x/t":{"type":"Tensor","location":"` + strings.Repeat("x", 2000) + `"}`), nil, false, problem.BadJSON},
		{"a shape of many numbers", manifest(`,"0/x/t":{"shape":[1` + strings.Repeat(",1", 64) + `]}`), nil, false, problem.BadJSON},
		{"much in YAML", "x: " + strings.Repeat("y", maxSnapshotYAML), nil, false, problem.BadJSON},
	} {
		s, err := snapshotOf(t, []byte(test.text))
		if got := reasonOf(t, err); got != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		} else if err == nil && (s.WorldSize != 2 || s.Alone != test.alone || !maps.Equal(s.Files, test.files)) {
			t.Errorf("%s: %+v", test.name, s)
		}
	}
}

func FuzzSnapshotManifest(f *testing.F) {
	f.Add(sample(f, "torchsnapshot/snapshot_metadata.json"))
	f.Add([]byte("world_size: 2\nmanifest:\n  0/x:\n    type: Tensor\n    location: a\n    byte_range: [0, 4]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadSnapshot(strict{t, text}, int64(len(text)))
		if reasonOf(t, err) != "" {
			return
		}
		for name, file := range s.Files {
			if file.Size < 0 {
				t.Errorf("%q has %d bytes", name, file.Size)
			}
		}
	})
}
