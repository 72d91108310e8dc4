package flight

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// dump is a record in testdata: what torch 2.15 has written of four ranks, two groups of two and the group of all, and
// one as NCCL's, with stacks.
func dump(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".pickle"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParsePickle(t *testing.T) {
	for rank := range 4 {
		r, err := ParsePickle(dump(t, fmt.Sprintf("gloo-rank%d", rank)))
		if err != nil {
			t.Fatal(err)
		}
		name := "1" // what its rank calls group 1 is another one
		if rank >= 2 {
			name = "2"
		}
		g, found := r.Groups[name]
		if all, _ := r.World(); len(r.Groups) != 2 || !found || g.Enqueued != 3 || g.Completed != 3 || all.Enqueued != 3 || !r.Pickled {
			t.Errorf("rank %d: %+v", rank, r.Groups)
		}
		if c := r.Calls[5]; len(r.Calls) != 6 || c.Group != name || c.Number != 3 || !c.Over || c.What != "gloo:all_reduce" || c.Created.Year() != 2026 || r.Cut {
			t.Errorf("rank %d: %+v", rank, r.Calls)
		}
	}
	r, err := ParsePickle(dump(t, "frames"))
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Groups["1"]; g.Enqueued != 4 || g.Description != "tp" || !slices.Equal(g.Members, []int{2, 3}) {
		t.Errorf("%+v", r.Groups)
	}
	if g, found := r.Groups["2"]; !found || g.Enqueued != 0 || g.Completed != 0 {
		t.Errorf("a group of which it has joined nothing yet: %+v", r.Groups)
	}
	if c, pending := r.Pending("0"); !pending || c.String() != "all_reduce (train.py:41)" || c.Number != 7 || r.Receives() {
		t.Errorf("%+v", c)
	}
	if _, pending := r.Pending("1"); pending {
		t.Error("nothing is open there")
	}
	for _, data := range []string{"", "x", "\x80\x02].", "\x80\x02}", "\x80\x02cos\nsystem\n(S'true'\ntR."} {
		if r, err := ParsePickle([]byte(data)); err == nil || len(r.Groups) > 0 {
			t.Errorf("%q: %+v", data, r)
		}
	}
}

// TestNCCL reads what the watchdog of torch 2.11 has written of two ranks on a GPU: one that never came to the collective in which
// the other stood, and two that called different ones.
func TestNCCL(t *testing.T) {
	for name, want := range map[string]struct {
		joined int64
		call   string
		terms  string
	}{
		"nccl-watchdog-rank0": {6, "all_reduce (cases.py:22)", "all_reduce of 1024 elements"},
		"nccl-watchdog-rank1": {5, "", ""},
		"nccl-mismatch-rank0": {6, "all_reduce (cases.py:164)", "all_reduce of 1024 elements"},
		"nccl-mismatch-rank1": {6, "_all_gather_base (cases.py:163)", "_all_gather_base of 1024 elements"},
	} {
		r, err := ParsePickle(dump(t, name))
		g, found := r.World()
		if err != nil || !found || g.Enqueued != want.joined || g.Completed != 5 || !slices.Equal(g.Members, []int{0, 1}) || r.Cut {
			t.Fatalf("%s: %+v, %v", name, g, err)
		}
		c, pending := r.Pending("0")
		if pending != (want.call != "") || pending && (c.String() != want.call || c.Terms() != want.terms || c.Number != 6) {
			t.Errorf("%s: %+v %q", name, c, c.Terms())
		}
	}
}

func TestTerms(t *testing.T) {
	for _, test := range []struct {
		call Call
		want string
	}{
		{Call{What: "nccl:all_reduce", Elements: 12}, "all_reduce of 12 elements"},
		{Call{What: "gloo:all_reduce", Elements: -1}, "all_reduce"},
		{Call{What: "nccl:all_to_all", Elements: 12}, "all_to_all"}, // each rank may put in another amount
		{Call{What: "nccl:send 0->1", Pair: true}, ""},
		{Call{What: "all_reduce"}, ""},
	} {
		if got := test.call.Terms(); got != test.want {
			t.Errorf("%+v: %q", test.call, got)
		}
	}
	for want, sizes := range map[int64][][]int64{-1: nil, 1: {{}}, 12: {{2, 3}, {6}}, 0: {{0, 5}}} {
		if got := elements(sizes); got != want {
			t.Errorf("%v: %d", sizes, got)
		}
	}
	for _, sizes := range [][][]int64{{{-1}}, {{1 << 40, 1 << 40}}, {{1 << 61}, {1 << 61}, {1 << 61}, {1 << 61}}} {
		if got := elements(sizes); got != -1 {
			t.Errorf("%v: %d", sizes, got)
		}
	}
}

// TestSame: JSON and pickle tell the same.
func TestSame(t *testing.T) {
	text := `{"version":"2.10","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1, 2, 3]"},
"1":{"name":"1","desc":"tp","ranks":"[2, 3]"},"2":{"name":"2","desc":"dp","ranks":"[0, 2]"}},
"pg_status":{"0":{"last_enqueued_collective":"7","last_completed_collective":"6"},"1":{"last_enqueued_collective":"4","last_completed_collective":"4"}},
"entries":[{"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":6,"profiling_name":"nccl:all_reduce","time_created_ns":1795433606322811768,"retired":true},
{"pg_id":1,"process_group":["1","tp"],"collective_seq_id":6,"profiling_name":"nccl:all_reduce","time_created_ns":1795433606322811769,"retired":true},
{"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":7,"profiling_name":"nccl:all_reduce","time_created_ns":1795433606322811770,"retired":false}]}`
	a, err := Parse([]byte(text))
	b, err2 := ParsePickle(dump(t, "frames"))
	for i := range b.Calls {
		b.Calls[i].At = "" // which JSON does not have
	}
	if err != nil || err2 != nil || fmt.Sprint(a.Groups, a.Calls) != fmt.Sprint(b.Groups, b.Calls) {
		t.Errorf("%v %v\n%+v\n%+v", err, err2, a, b)
	}
}

func TestReadDump(t *testing.T) {
	dir := t.TempDir()
	env := func(name string) string {
		return map[string]string{"TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "trace_"}[name]
	}
	path := Dump(env, dir, 3)
	if want := filepath.Join(dir, "trace_3"); path != want {
		t.Errorf("%q, want %q", path, want)
	}
	if path := Dump(func(name string) string { return map[string]string{"HOME": "/home/u"}[name] }, dir, 3); path != "" {
		t.Errorf("%q may be another job's", path)
	}
	if err := os.WriteFile(path, dump(t, "frames"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := ReadDump(path, time.Now().Add(-time.Minute)); err != nil || len(r.Groups) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := ReadDump(path, time.Now().Add(time.Minute)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of another run: %v", err)
	}
	fifo, link, large := filepath.Join(dir, "fifo"), filepath.Join(dir, "link"), filepath.Join(dir, "large")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), os.Symlink(path, link), os.WriteFile(large, nil, 0o600), os.Truncate(large, MostDump+1)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, link, large} {
		if _, err := ReadDump(path, time.Time{}); err == nil || errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestMembers(t *testing.T) {
	for text, want := range map[string][]int{"[0, 1]": {0, 1}, "[7]": {7}, "[]": nil, "": nil, "[x]": nil, "[-1]": nil, "[1, 2": nil} {
		if got := members(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func FuzzParsePickle(f *testing.F) {
	for _, name := range []string{"gloo-rank0", "frames"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".pickle"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParsePickle(data)
		if err != nil && len(r.Groups) > 0 || len(r.Calls) > mostCalls || len(r.Groups) > 2*mostGroups {
			t.Errorf("%+v, %v", r, err)
		}
		for _, c := range r.Calls {
			_ = strings.ToUpper(c.String())
		}
	})
}
