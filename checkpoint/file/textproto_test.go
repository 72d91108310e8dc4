package file

import (
	"reflect"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

func TestCheckpointState(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       CheckpointState
	}{
		{"a path alone", `model_checkpoint_path: "ckpt-1"`, CheckpointState{Path: "ckpt-1"}},
		{"the last one counts", "model_checkpoint_path: 'a'\nmodel_checkpoint_path: \"b\"", CheckpointState{Path: "b"}},
		{"all fields", `model_checkpoint_path: "/mnt/x y/ckpt-300"
all_model_checkpoint_paths: "ckpt-200"
all_model_checkpoint_paths: "/mnt/x y/ckpt-300"
all_model_checkpoint_timestamps: 1795310982.3421607
all_model_checkpoint_timestamps: 1.7e9
last_preserved_timestamp: 1795310981.224913
`, CheckpointState{"/mnt/x y/ckpt-300", []string{"ckpt-200", "/mnt/x y/ckpt-300"}, []float64{1795310982.3421607, 1.7e9}}},
		{"bytes in C's notation", `model_checkpoint_path: "\303\244\x2f\"\'\\\n"`, CheckpointState{Path: "ä/\"'\\\n"}},
		{"strings in a row", `model_checkpoint_path: "ck" 'pt' "-1"`, CheckpointState{Path: "ckpt-1"}},
		{"lists, comments, separators", `# written by hand
all_model_checkpoint_paths: ["a", "b"]; all_model_checkpoint_timestamps:[1,2] , model_checkpoint_path:"b" # the end`,
			CheckpointState{"b", []string{"a", "b"}, []float64{1, 2}}},
		{"fields of a later version", `new: true more { model_checkpoint_path: "no" x: [<a: 1>] } other <b: 'c'>
model_checkpoint_path: "yes" [] `, CheckpointState{}},
		{"messages of a later version", `more { model_checkpoint_path: "no" x: [{a: 1}] } other <b: 'c'> model_checkpoint_path: "yes"`,
			CheckpointState{Path: "yes"}},
	} {
		got, err := ReadCheckpointState([]byte(test.text))
		if test.want.Path == "" {
			if reasonOf(t, err) != problem.PointerMalformed {
				t.Errorf("%s: %+v, %v", test.name, got, err)
			}
		} else if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
	}
	got, err := ReadCheckpointState(sample(t, "tensorflow/checkpoint.pbtxt"))
	if err != nil || got.Path != "ckpt-1" || len(got.All) != 1 || len(got.Times) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCheckpointStateProblems(t *testing.T) {
	for name, text := range map[string]string{
		"empty":                 "",
		"cut":                   `model_checkpoint_path: "ckp`,
		"cut before a value":    `model_checkpoint_path:`,
		"no path":               `all_model_checkpoint_paths: "ckpt-1"`,
		"no colon":              `model_checkpoint_path "ckpt-1"`,
		"a newline in a string": "model_checkpoint_path: \"ck\n\"",
		"an unknown escape":     `model_checkpoint_path: "\q"`,
		"a byte of 400":         `model_checkpoint_path: "\777"`,
		"no digits":             `model_checkpoint_path: "\x"`,
		"a bracket too many":    `model_checkpoint_path: "a" }`,
		"no bracket":            `model_checkpoint_path: "a" b {`,
		"no time":               `model_checkpoint_path: "a" all_model_checkpoint_timestamps: soon`,
		"messagepack":           "\x81\xa6params\x81\xa1w\xc7\x01",
		"NULs":                  "\x00\x00\x00\x00",
		"deep":                  `model_checkpoint_path: "a" ` + strings.Repeat("a{", 1000) + strings.Repeat("}", 1000),
		"deep lists":            `model_checkpoint_path: "a" b:` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
	} {
		got, err := ReadCheckpointState([]byte(text))
		if reasonOf(t, err) != problem.PointerMalformed {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzTextProto(f *testing.F) {
	f.Add(sample(f, "tensorflow/checkpoint.pbtxt"))
	f.Add([]byte(`a { b: [1, "x"] } model_checkpoint_path: "\303\x2f" 'b' # end`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadCheckpointState(text)
		if reason := reasonOf(t, err); reason != "" && reason != problem.PointerMalformed {
			t.Error(err)
		}
		if n := len(s.Path) + len(s.All) + len(s.Times); n > len(text) {
			t.Errorf("%d things in %d bytes", n, len(text))
		}
	})
}
