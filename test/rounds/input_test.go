package rounds_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// TestRecordIsBroken finds records that it cannot read. It overwrites none but its own, says so, and goes on when they are gone.
func TestRecordIsBroken(t *testing.T) {
	tests := []struct {
		name, key, value, says string
		removed                bool // has to be removed before the job goes on
	}{
		{"the job", "job", "garbage", "a record in the store cannot be used", true},
		{"a job of the future", "job", `{"v":99}`, "a record in the store cannot be used", true},
		{"a node's own", "nodes/n1", `{"v":99}`, "the key of this node's name held nothing that could be used", false}, // on no lease: it is nobody's
		{"another node's", "nodes/n7", `{"v":99,"state":"dancing"}`, "a node's record cannot be used", false},
		{"a command", "control/c", `{"v":1,"verb":"dance"}`, "a command cannot be used", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := shared.get(t).Admin(t)
			if _, err := client.Put(context.Background(), key(t, tt.key), tt.value); err != nil {
				t.Fatal(err)
			}
			p := sharedParty(t, "2")
			nodes := p.startAll(2)
			if tt.removed {
				nodes[1].Await(tt.says)
				res, err := client.Get(context.Background(), key(t, tt.key))
				if err != nil || len(res.Kvs) != 1 || string(res.Kvs[0].Value) != tt.value {
					t.Errorf("the record is %v, %v; want it as it was", res.Kvs, err)
				}
				if _, err := client.Delete(context.Background(), key(t, tt.key)); err != nil {
					t.Fatal(err)
				}
			}
			if tt.key == "nodes/n1" {
				nodes[1].Await(tt.says)
			}
			finish(p.round(0, 2))
			p.all(nodes, succeeded)
		})
	}
}

// TestRecordBreaksInARound spoils the job's record while a round runs: training is not stopped for that.
func TestRecordBreaksInARound(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "2")
	nodes := p.startAll(2)
	workers := p.round(0, 2)
	client := shared.get(t).Admin(t)
	before, err := client.Get(context.Background(), key(t, "job"))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"garbage", string(before.Kvs[0].Value)} {
		if _, err := client.Put(context.Background(), key(t, "job"), value); err != nil {
			t.Fatal(err)
		}
	}
	workers[0].Do("kill 9")
	second := p.round(1, 2)
	finish(second)
	p.all(nodes, succeeded)
}

// TestRecordsAreDeleted deletes a record by hand while a round runs. It is put back, nothing stops for that, and the
// next failure restarts as ever.
func TestRecordsAreDeleted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"job", "rounds/0", "nodes/n1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := sharedParty(t, "2", quickFence...)
			nodes := p.startAll(2)
			first := p.round(0, 2)
			if _, err := shared.get(t).Admin(t).Delete(context.Background(), key(t, name)); err != nil {
				t.Fatal(err)
			}
			harness.Eventually(t, limit, name+" is there again", func() bool { return p.keys(name) == 1 })
			if first[0].Gone() || first[1].Gone() {
				t.Error("a worker was stopped for that")
			}
			first[1].Do("kill 9")
			second := p.round(1, 2)
			p.is(second, names(first)...)
			finish(second)
			for _, e := range p.all(nodes, succeeded) {
				if e.Restarts.Used != 1 {
					t.Errorf("%s ends with restarts %+v", e.Node, *e.Restarts)
				}
			}
		})
	}
}

// TestNoSuchFile gives a node files that are not there: it leaves at once, since waiting brings none.
func TestNoSuchFile(t *testing.T) {
	t.Parallel()
	nowhere := t.TempDir() + "/nowhere"
	for _, flags := range [][]string{
		{"--store", "https://127.0.0.1:1", "--store-ca", nowhere},
		{"--store", "http://127.0.0.1:1", "--store-user-file", nowhere, "--store-password-file", nowhere},
		{"--endpoint", freeAddr(t), "--store-token-file", nowhere},
		{"--endpoint", freeAddr(t), "--store-ca", nowhere, "--store-cert", nowhere, "--store-key", nowhere},
	} {
		p := newParty(t, append([]string{"--nodes", "2", "--job", jobName(t)}, flags...)...)
		for _, e := range p.all([]*node{p.start("n0")}, end{64, exitcodes.Fatal, "BadConfig"}) {
			if !strings.Contains(e.Message.Message, nowhere) {
				t.Errorf("it does not name the file: %s", e.Raw)
			}
		}
	}
}

// TestPasswordIsWrong is a mistake that trying again does not fix.
func TestPasswordIsWrong(t *testing.T) {
	t.Parallel()
	c := etcdserver.StartFor(t, "127.0.0.1", 1, nil)
	client, ctx := c.Admin(t), context.Background()
	_, err := client.UserAdd(ctx, "root", "right")
	if err == nil {
		_, err = client.UserGrantRole(ctx, "root", "root")
	}
	if err == nil {
		_, err = client.AuthEnable(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"user": "root", "right": "right", "wrong": "wrong"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newParty(t, "--nodes", "2", "--store", storeOf(c), "--job", jobName(t), "--store-user-file", filepath.Join(dir, "user"))
	p.all([]*node{p.start("n0", "--store-password-file", filepath.Join(dir, "wrong"))}, end{64, exitcodes.Fatal, "BadConfig"})
	nodes := p.startAll(2, "--store-password-file", filepath.Join(dir, "right"))
	finish(p.round(0, 2))
	p.all(nodes, succeeded)
}
