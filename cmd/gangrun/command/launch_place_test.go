package command

import (
	"strings"
	"testing"

	"github.com/gangrun/gangrun/supervisor/torchrun"
)

// TestMeet: where the nodes of launch meet, and a warning where that is torchrun's default, which one machine alone reaches.
func TestMeet(t *testing.T) {
	const nobody = " is not given: the nodes meet at "
	for _, tt := range []struct {
		argv  string
		store string // of gangrun's own settings
		at    string
		first bool
		says  string // empty: nothing
	}{
		{"--nnodes 4", "", "the store within gangrun at 127.0.0.1:29400", true, "--master-addr" + nobody + "127.0.0.1,"},
		{"--nnodes 4 --node-rank 1", "", "the store within gangrun at 127.0.0.1:29400", false, "--master-addr" + nobody},
		{"--nnodes 4 --node-rank 1 --master-addr a", "", "the store within gangrun at a:29400", false, ""},
		{"--nnodes 4 --node-rank 0 --master-addr a", "", "the store within gangrun at a:29400", true, ""},
		{"--nnodes 4 --rdzv-endpoint a:1", "", "the store within gangrun at a:29400", true, ""},
		{"--nnodes 4 --master-addr 127.0.0.1", "", "the store within gangrun at 127.0.0.1:29400", true, ""}, // somebody wants that
		{"--nnodes 1:4 --rdzv-backend c10d", "", "the store within gangrun at localhost:29400", false, "--rdzv-endpoint" + nobody + "localhost,"},
		{"--nnodes 1:4 --rdzv-backend c10d --rdzv-endpoint a", "", "the store within gangrun at a:29400", false, ""},
		{"--nnodes 1:4 --rdzv-backend etcd", "", "etcd http://localhost:2379", false, "--rdzv-endpoint" + nobody + "localhost,"},
		{"--nnodes 4", "http://etcd:2379", "etcd http://etcd:2379", false, ""},
		{"--nnodes 1", "", "this process", false, ""},
		{"--standalone --nnodes 1", "", "this process", false, ""},
	} {
		o := defaultOptions()
		o.endpoints, o.Job = tt.store, "j"
		parsed, err := torchrun.Parse(append(strings.Fields(tt.argv), "x.py"), func(string) (string, bool) { return "", false },
			func(string) (bool, bool) { return false, false })
		if err == nil {
			err = o.place(parsed)
		}
		if err != nil {
			t.Errorf("%s: %v", tt.argv, err)
			continue
		}
		said := strings.Join(o.warnings, "")
		if o.location.String() != tt.at || o.location.First != tt.first || !strings.Contains(said, tt.says) || (tt.says == "") != (said == "") {
			t.Errorf("%s: at %s, first %v, warns %q", tt.argv, o.location, o.location.First, said)
		}
	}
}
