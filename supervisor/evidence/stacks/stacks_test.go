package stacks

import (
	"strings"
	"testing"
)

const dump = `Fatal Python error: Aborted

Thread 0x00007f41b7fff6c0 [pin] (most recent call first):
  File "/usr/lib/python3.12/threading.py", line 359 in wait
  File "/usr/lib/python3.12/threading.py", line 1032 in _bootstrap

Thread 0x00007f41b7fff6c1 (most recent call first):
  <no Python frame>

Current thread 0x00007f41c2a32740 [python3] (most recent call first):
  File "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py", line 3010 in all_reduce
  File "/usr/lib/python3/dist-packages/torch/distributed/c10d_logger.py", line 83 in wrapper
  File "/work/train.py", line 30 in step
  File "/work/train.py", line 41 in <module>

Extension modules: numpy._core._multiarray_umath, torch._C (total: 2)
`

func TestParse(t *testing.T) {
	output := "step 29\nTraceback (most recent call last):\n  File \"x.py\", line 1, in f\nValueError: no\n" + dump
	found, before := Find([]byte(output))
	if string(found) != dump || !strings.HasSuffix(string(before), "ValueError: no\n") {
		t.Errorf("%q before %q", before, found)
	}
	threads := Parse(found)
	if len(threads) != 3 || len(threads[0].Frames) != 2 || len(threads[1].Frames) != 0 || !threads[2].Current {
		t.Fatalf("%+v", threads)
	}
	main, ok := Main(threads)
	if !ok || !main.Current || len(main.Frames) != 4 || !main.Waits() {
		t.Errorf("%+v", main)
	}
	if got, want := main.Stands(), "all_reduce (distributed_c10d.py:3010), called by step (train.py:30)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if dump, _ := Find([]byte("said: Fatal Python error: Aborted\n")); dump != nil {
		t.Errorf("%q is quoted by somebody", dump)
	}
	other := threads[2]
	other.Frames = append([]Frame{}, other.Frames...)
	other.Frames[2].Line = 31
	if other.Signature() != main.Signature() {
		t.Error("the line tells two apart that wait in the same place")
	}
}

func TestStands(t *testing.T) {
	own := Thread{Frames: []Frame{{"/work/train.py", 12, "spin"}, {"/work/train.py", 40, "<module>"}}}
	if got := own.Stands(); got != "spin (train.py:12)" {
		t.Error(got)
	}
	gpu := Thread{Frames: []Frame{{"/usr/lib/python3/site-packages/torch/cuda/__init__.py", 1162, "synchronize"}, {"/work/train.py", 22, "reduce"}}}
	if !gpu.Waits() { // it may be a collective that the GPU is in
		t.Error("it waits for the GPU")
	}
	if own.Waits() || (Thread{}).Stands() != "" {
		t.Error("it waits")
	}
	if _, found := Main([]Thread{{Current: true}}); found {
		t.Error("a thread without Python is the main one")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(dump))
	f.Add([]byte("Fatal Python error: Aborted\n\nThread 0x1 (most recent call first):\n  File \"\", line 99999999999999999999 in f\n"))
	f.Fuzz(func(t *testing.T, output []byte) {
		found, before := Find(output)
		if len(found)+len(before) != len(output) {
			t.Error("something is lost")
		}
		threads := Parse(found)
		if main, ok := Main(threads); ok && (main.Stands() == "" || main.Signature() == "") {
			t.Errorf("%+v", main)
		}
		for _, thread := range threads {
			if len(thread.Frames) > mostFrames {
				t.Error(len(thread.Frames))
			}
		}
	})
}
