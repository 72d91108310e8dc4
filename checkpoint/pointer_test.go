package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/format"
)

const bundleState = `model_checkpoint_path: "ckpt-30"
all_model_checkpoint_paths: "ckpt-20"
all_model_checkpoint_paths: "ckpt-30"
all_model_checkpoint_timestamps: 1700000000.5
`

func TestRepoint(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		c          format.Checkpoint
		was, want  string // content
		says       string // what it named, when it was changed
	}{
		{"deepspeed", "latest", format.Checkpoint{Format: "deepspeed", Tag: "global_step20", Step: 20}, "global_step30", "global_step20", "global_step30"},
		{"deepspeed, right already", "latest", format.Checkpoint{Format: "deepspeed", Tag: "global_step20", Step: 20}, "global_step20\n", "global_step20\n", ""},
		{"deepspeed, empty", "latest", format.Checkpoint{Format: "deepspeed", Tag: "global_step20", Step: 20}, "", "global_step20", "nothing"},
		{"deepspeed by DLRover", "latest", format.Checkpoint{Format: "deepspeed", Tag: "20", Step: 20}, "30", "20", "30"},
		{"with a payload", "latest_checkpointed_iteration.txt", format.Checkpoint{Format: "megatron+dcp", Tag: "iter_0000020", Step: 20}, "30", "20", "30"},
		{"megatron", "latest_checkpointed_iteration.txt", format.Checkpoint{Format: "megatron", Tag: "iter_0000020", Step: 20}, "30\n", "20", "30"},
		{"megatron, right already", "latest_checkpointed_iteration.txt", format.Checkpoint{Format: "megatron", Tag: "iter_0000020", Step: 20}, "20", "20", ""},
		{"megatron, malformed", "latest_checkpointed_iteration.txt", format.Checkpoint{Format: "megatron", Tag: "iter_0000020", Step: 20}, "\x00\x00", "20", "\x00\x00"},
		{"megatron, a release", "latest_checkpointed_iteration.txt", format.Checkpoint{Format: "megatron", Tag: "release", Step: -1}, "30", "release", "30"},
		{"verl", "latest_checkpointed_iteration.txt", format.Checkpoint{Format: "verl", Tag: "global_step_20", Step: 20}, "30", "20", "30"},
		{"tensorflow", "checkpoint", format.Checkpoint{Format: "tf_bundle", Tag: "ckpt-20", Step: 20}, bundleState,
			strings.Replace(bundleState, `path: "ckpt-30"`, `path: "ckpt-20"`, 1), "ckpt-30"},
		{"tensorflow, an absolute path", "checkpoint", format.Checkpoint{Format: "tf_bundle", Tag: "ckpt-20", Step: 20},
			"model_checkpoint_path: \"/mnt/c/ckpt-30\"\n", "model_checkpoint_path: \"/mnt/c/ckpt-20\"\n", "ckpt-30"},
		{"tensorflow, right already", "checkpoint", format.Checkpoint{Format: "tf_bundle", Tag: "ckpt-30", Step: 30}, bundleState, bundleState, ""},
		{"tensorflow, empty", "checkpoint", format.Checkpoint{Format: "tf_bundle", Tag: "ckpt-20", Step: 20}, "", "model_checkpoint_path: \"ckpt-20\"\n",
			"nothing"},
		{"a format without one", "latest", format.Checkpoint{Format: "hf_trainer", Tag: "checkpoint-20", Step: 20}, "checkpoint-30", "checkpoint-30", ""},
	} {
		for _, root := range []string{".", "run1"} {
			tr := newTree(t)
			name := filepath.Join(root, tt.file)
			tr.put(name, []byte(tt.was))
			tt.c.Root = root
			says, err := repoint(tr.dir, tt.c)
			if err != nil || says != tt.says {
				t.Errorf("%s: %q, %v, want %q", tt.name, says, err, tt.says)
			}
			if got := tr.read(name); got != tt.want {
				t.Errorf("%s: it is %q, want %q", tt.name, got, tt.want)
			}
			switch changed := tt.says != ""; {
			case changed != tr.has(name+previous):
				t.Errorf("%s: changed %v, and the old one kept %v", tt.name, changed, !changed)
			case changed && tr.read(name+previous) != tt.was:
				t.Errorf("%s: kept %q, was %q", tt.name, tr.read(name+previous), tt.was)
			}
			if says, err := repoint(tr.dir, tt.c); err != nil || says != "" {
				t.Errorf("%s: once more: %q, %v", tt.name, says, err)
			}
		}
	}
}

// TestRepointNone makes a pointer where there is none: the framework would start over without one.
func TestRepointNone(t *testing.T) {
	tr := newTree(t)
	if was, err := repoint(tr.dir, format.Checkpoint{Format: "deepspeed", Root: ".", Tag: "global_step1", Step: 1}); err != nil || was != noPointer || tr.read("latest") != "global_step1" {
		t.Errorf("%q, %v", was, err)
	}
	for tag, made := range map[string]bool{"ckpt-3": true, "state_epoch_3": false} { // of Checkpoint.save, and of Checkpoint.write
		tr := newTree(t)
		was, err := repoint(tr.dir, format.Checkpoint{Format: "tf_bundle", Root: ".", Tag: tag, Step: 3})
		if err != nil || (was == noPointer) != made || tr.has("checkpoint") != made {
			t.Errorf("%s: %q, %v", tag, was, err)
		}
	}
}

// TestRepointUnreadable changes nothing that it does not understand how to keep.
func TestRepointUnreadable(t *testing.T) {
	c := format.Checkpoint{Format: "deepspeed", Root: ".", Tag: "global_step1", Step: 1}
	tr := newTree(t)
	if err := os.Mkdir(filepath.Join(tr.dir, "latest"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := repoint(tr.dir, c); err == nil {
		t.Error("a directory is taken for a pointer")
	}
	tr = newTree(t)
	tr.put("latest", make([]byte, maxPointer+1))
	if _, err := repoint(tr.dir, c); err == nil || !strings.Contains(err.Error(), "latest") {
		t.Errorf("%v", err)
	}
}

// FuzzBundlePointer writes what is read back as the tag, by gangrun and by who reads TensorFlow's text format, whatever
// there was before, and keeps the list of all checkpoints.
func FuzzBundlePointer(f *testing.F) {
	f.Add("ckpt-20", []byte(bundleState))
	f.Add("ckpt-20", []byte(``))
	f.Add("ckpt-20", []byte("all_model_checkpoint_paths: \"x\"\n  model_checkpoint_path: \"/a b/c\\\"d/ckpt-1\""))
	f.Add("ckpt-20", []byte("all_model_checkpoint_paths: \"x\"\n, model_checkpoint_path: \"/c/ckpt-1\""))
	f.Add("model.ckpt-5", []byte("model_checkpoint_path: \"/mod\\303\\250le/ckpt-1\"\n"))
	f.Add("mod\u00e8le.ckpt-5", []byte("model_checkpoint_path: 'x'\n"))
	f.Fuzz(func(t *testing.T, tag string, now []byte) {
		// What is no name in a directory cannot be a tag, and what cannot be printed is written as no TensorFlow does.
		if tag == "" || tag == "." || tag == ".." || strings.ContainsAny(tag, "/\x00") || !utf8.ValidString(tag) || len(now) > maxPointer {
			return
		}
		c := format.Checkpoint{Tag: tag}
		c.Format = "tf_bundle"
		next := c.Pointer().Point(c, now)
		if got := c.Pointer().To(next); got != tag {
			t.Fatalf("%q over %q is %q, which names %q", tag, now, next, got)
		}
		before, err := file.ReadCheckpointState(now)
		if err != nil {
			return
		}
		after, err := file.ReadCheckpointState(next)
		if err != nil {
			t.Fatalf("%q over %q is %q: %v", tag, now, next, err)
		}
		if filepath.Base(after.Path) != tag || filepath.Dir(after.Path) != filepath.Clean(filepath.Dir(before.Path)) {
			t.Fatalf("%q over %q names %q", tag, now, after.Path)
		}
		if strings.Join(after.All, "\n") != strings.Join(before.All, "\n") {
			t.Fatalf("%q over %q lists %q", tag, now, after.All)
		}
	})
}
