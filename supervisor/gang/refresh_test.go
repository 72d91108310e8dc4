package gang

import (
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor/environ"
)

func round(number, nodes int) *agent.Start {
	r := &rendezvous.Round{RunUID: "run", Number: number, MasterAddr: "host0", MasterPort: 4242}
	for i := range nodes {
		r.Members = append(r.Members, rendezvous.Member{Name: string(rune('a' + i)), Slots: 2, Role: "default"})
	}
	return &agent.Start{Round: r, Rank: 1}
}

const overridden = "--rdzv-backend=static --rdzv-endpoint=host0:4242 --rdzv-id=job-run-3 --master-addr=host0 --master-port=4242 " +
	"--nnodes=2 --node-rank=1 --max-restarts=0"

func TestTorchrunIsToldOfTheRound(t *testing.T) {
	for _, test := range []struct{ name, argv, want string }{
		{"torchrun", "torchrun --nproc-per-node 2 train.py --nnodes 7", "torchrun --nproc-per-node 2 " + overridden + " train.py --nnodes 7"},
		{"by its path", "/opt/venv/bin/torchrun -m pkg.train x", "/opt/venv/bin/torchrun -m " + overridden + " pkg.train x"},
		{"as a module", "python3 -u -m torch.distributed.run train.py", "python3 -u -m torch.distributed.run " + overridden + " train.py"},
		{"by its Python", "python3.11 /opt/venv/bin/torchrun train.py", "python3.11 /opt/venv/bin/torchrun " + overridden + " train.py"},
		{"its own coordinates", "torchrun --nnodes 4 --rdzv-backend c10d train.py", "torchrun --nnodes 4 --rdzv-backend c10d " + overridden + " train.py"},
		{"standalone", "torchrun --standalone train.py --standalone", "torchrun " + overridden + " train.py --standalone"},
		{"behind --", "torchrun -- train.py", "torchrun " + overridden + " -- train.py"},
		{"something else", "python3 train.py --nnodes 2", "python3 train.py --nnodes 2"},
		{"a script that is called so", "./torchrun.sh train.py", "./torchrun.sh train.py"},
		{"what torchrun will refuse itself", "torchrun --nonsense train.py", "torchrun --nonsense train.py"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Command{Argv: strings.Fields(test.argv), Job: "job", Several: true}
			if _, argv, _ := c.refresh(round(3, 2)); strings.Join(argv, " ") != test.want {
				t.Errorf("got  %s\nwant %s", strings.Join(argv, " "), test.want)
			}
		})
	}
}

func TestOperatorsVariablesAreRefreshed(t *testing.T) {
	c := Command{
		Argv: []string{"python3", "train.py"}, Job: "job", Several: true,
		Env: []string{"MASTER_ADDR=old", "MASTER_PORT=1", "RANK=7", "WORLD_SIZE=9", "PET_NNODES=1:9", "PET_STANDALONE=", "OTHER=x"},
	}
	env, _, _ := c.refresh(round(3, 2))
	for _, want := range []string{
		"MASTER_ADDR=host0", "MASTER_PORT=4242", "RANK=1", "WORLD_SIZE=2", "PET_NNODES=2", "PET_NODE_RANK=1",
		"PET_STANDALONE=0", "PET_RDZV_ENDPOINT=host0:4242", "OTHER=x",
	} {
		name, _, _ := strings.Cut(want, "=")
		if got := environ.Get(env, name); name+"="+got != want {
			t.Errorf("%s=%s, want %s", name, got, want)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(env), func(e string) bool { return !strings.HasPrefix(e, "RANK=") })); n != 1 {
		t.Errorf("RANK is there %d times", n)
	}
	c.Env = []string{"X=1"}
	env, _, _ = c.refresh(round(3, 2))
	if environ.Get(env, "RANK") != "" || environ.Get(env, "WORLD_SIZE") != "" {
		t.Errorf("ranks are made up where the operator gives none: %v", env)
	}
}

// TestTFConfigFollowsTheMembers is a round of fewer nodes than TF_CONFIG lists.
func TestTFConfigFollowsTheMembers(t *testing.T) {
	c := Command{Argv: []string{"python3", "train.py"}, Several: true, Env: []string{
		`TF_CONFIG={"cluster":{"worker":["z.ns:1","a.ns:1","b.ns:1"]},"task":{"type":"worker","index":2}}`,
	}}
	env, _, err := c.refresh(round(3, 2))
	want := `{"cluster":{"worker":["a.ns:1","b.ns:1"]},"task":{"index":1,"type":"worker"}}`
	if got := environ.Get(env, "TF_CONFIG"); got != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	c.Env = []string{`TF_CONFIG={"cluster":{"worker":["x.ns:1","y.ns:1","b.ns:1"]},"task":{"type":"worker","index":2}}`}
	if _, err := c.Workers(round(3, 2)); err == nil {
		t.Error("nobody is told that the members are not known by their names")
	}
}

func TestCommandAlone(t *testing.T) {
	c := Command{Argv: []string{"torchrun", "train.py"}, Env: []string{"RANK=7"}}
	workers, err := c.Workers(round(0, 1))
	if err != nil || len(workers) != 1 || !slices.Equal(workers[0].Argv, c.Argv) || !slices.Equal(workers[0].Env, c.Env) {
		t.Errorf("a node that is alone is left alone: %+v, %v", workers, err)
	}
}
