package command

import (
	"strings"
	"testing"

	"github.com/gangrun/gangrun/supervisor/platform"
)

func detect(env map[string]string) platform.Platform {
	return platform.Detect(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, "host")
}

// settled resolves flags as run does, up to where the nodes meet.
func settled(t *testing.T, flags map[string]string, env map[string]string) (*options, error) {
	t.Helper()
	o := defaultOptions()
	for _, s := range o.runSettings() {
		if value, found := flags[s.name]; found {
			if err := s.parse(value); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := o.settle(detect(env))
	if err == nil {
		err = o.checkTimes()
	}
	return o, err
}

func TestWhereNodesMeet(t *testing.T) {
	pytorch := map[string]string{"PET_NNODES": "2", "PET_NODE_RANK": "1", "MASTER_ADDR": "127.0.0.1", "PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": "23456"}
	elastic := map[string]string{"PET_NNODES": "1:4", "PET_RDZV_ENDPOINT": "127.0.0.1:23456", "PET_RDZV_BACKEND": "c10d"}
	for _, test := range []struct {
		name  string
		flags map[string]string
		env   map[string]string
		where string
		nodes [2]int
		pin   int
		err   string
	}{
		{"one node", nil, nil, "this process", [2]int{1, 1}, -1, ""},
		{"an etcd", map[string]string{"store": "http://e1:2379,http://e2:2379", "job": "j", "nodes": "2:4"}, nil, "etcd http://e1:2379,http://e2:2379", [2]int{2, 4}, -1, ""},
		{"sizes", map[string]string{"store": "http://e:1", "job": "j", "nodes": "8,2,4"}, nil, "etcd http://e:1", [2]int{2, 8}, -1, ""},
		{"an etcd without a job", map[string]string{"store": "http://e:2379"}, nil, "", [2]int{}, 0, "--job"},
		{"nowhere", map[string]string{"nodes": "2"}, nil, "", [2]int{}, 0, "--store"},
		{"PyTorchJob", nil, pytorch, "the store within gangrun at 127.0.0.1:29400", [2]int{2, 2}, 1, ""},
		{"PyTorchJob, another port", map[string]string{"store-port": "1234"}, pytorch, "the store within gangrun at 127.0.0.1:1234", [2]int{2, 2}, 1, ""},
		{"PyTorchJob of one", nil, map[string]string{"PET_NNODES": "1", "MASTER_ADDR": "a"}, "this process", [2]int{1, 1}, -1, ""},
		{"elastic PyTorchJob", nil, elastic, "the store within gangrun at 127.0.0.1:23456", [2]int{1, 4}, -1, ""},
		{"flags outrank the operator", map[string]string{"nodes": "3", "node-rank": "2"}, pytorch, "the store within gangrun at 127.0.0.1:29400", [2]int{3, 3}, 2, ""},
		{"a host among them", map[string]string{"nodes": "4", "endpoint": "127.0.0.1"}, nil, "the store within gangrun at 127.0.0.1:29400", [2]int{4, 4}, -1, ""},
		{"a host and a port", map[string]string{"nodes": "4", "endpoint": "[::1]:77"}, pytorch, "the store within gangrun at [::1]:77", [2]int{4, 4}, 1, ""},
		{"two places", map[string]string{"nodes": "4", "endpoint": "h", "store": "http://e:1", "job": "j"}, nil, "", [2]int{}, 0, "--store and --endpoint"},
		{"an invalid port", map[string]string{"nodes": "4", "endpoint": "h:x"}, nil, "", [2]int{}, 0, "--endpoint h:x"},
		{"no host", map[string]string{"nodes": "4", "endpoint": ":29400"}, nil, "", [2]int{}, 0, "--endpoint :29400"},
		{"a token for an etcd", map[string]string{"nodes": "2", "store": "http://e:1", "job": "j", "store-token-file": "f"}, nil, "", [2]int{}, 0, "--store-token-file"},
		{"a user within gangrun", map[string]string{"nodes": "2", "endpoint": "h", "store-user-file": "f"}, nil, "", [2]int{}, 0, "--store-token-file"},
		{"half of the certificates", map[string]string{"nodes": "2", "endpoint": "h", "store-cert": "f"}, nil, "", [2]int{}, 0, "all three of"},
		{"an invalid rank", nil, map[string]string{"PET_NNODES": "2", "PET_NODE_RANK": "x", "MASTER_ADDR": "127.0.0.1"}, "", [2]int{}, 0, "PET_NODE_RANK=x"},
		{"torchrun's number of nodes, and a place of gangrun's", map[string]string{"endpoint": "127.0.0.1"}, map[string]string{"PET_NNODES": "2:4", "PET_NODE_RANK": "1"},
			"the store within gangrun at 127.0.0.1:29400", [2]int{2, 4}, 1, ""},
		{"that is no number", map[string]string{"endpoint": "127.0.0.1"}, map[string]string{"PET_NNODES": "x"}, "", [2]int{}, 0, "PET_NNODES=x"},
		{"that is no number, and no place", nil, map[string]string{"PET_NNODES": "x"}, "this process", [2]int{1, 1}, -1, ""},
		{"a rank above the one node's", map[string]string{"node-rank": "1"}, nil, "", [2]int{}, 0, "--node-rank 1"},
		{"no time to stop", map[string]string{"nodes": "2", "store": "http://127.0.0.1:1", "job": "j", "fence-timeout": "10s"}, nil, "", [2]int{}, 0, "--fence-timeout"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, err := settled(t, test.flags, test.env)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want one about %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if o.location.String() != test.where || o.spec.MinNodes != test.nodes[0] || o.spec.MaxNodes != test.nodes[1] || o.pin != test.pin {
				t.Errorf("%s, %d:%d nodes, rank %d", o.location, o.spec.MinNodes, o.spec.MaxNodes, o.pin)
			}
		})
	}
}

// TestNumberOfNodesAlone is torchrun's number of nodes where nobody says where they meet.
func TestNumberOfNodesAlone(t *testing.T) {
	for value, warns := range map[string]bool{"x": true, "2": true, "1:2": true, "1": false, "1:1": false, "": false} {
		o, err := settled(t, nil, map[string]string{"PET_NNODES": value})
		if err != nil || len(o.warnings) > 0 != warns || warns && !strings.Contains(o.warnings[0], "PET_NNODES="+value+" has no effect") {
			t.Errorf("PET_NNODES=%s: %v, %q", value, err, o.warnings)
		}
	}
	if o, err := settled(t, map[string]string{"nodes": "1"}, map[string]string{"PET_NNODES": "2"}); err != nil || len(o.warnings) > 0 {
		t.Errorf("outranked: %v, %q", err, o.warnings)
	}
}

// TestWorkersAloneHaveToMeet is a PyTorchJob without a master: each of its pods would train alone, and nobody would notice.
func TestWorkersAloneHaveToMeet(t *testing.T) {
	o := defaultOptions()
	env := map[string]string{"PET_NNODES": "3", "PET_NPROC_PER_NODE": "auto"}
	p := platform.Detect(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, "bert-worker-1")
	if err := o.settle(p); err == nil || !strings.Contains(err.Error(), "3 nodes have to meet somewhere") {
		t.Errorf("%v", err)
	}
}

func TestNamesOnOneMachine(t *testing.T) {
	record := "TestNamesOnOneMachine" + t.TempDir()
	first, err := hold(record, "host", false)
	if err != nil || first.name != "host" {
		t.Fatalf("%+v, %v", first, err)
	}
	defer first.lock.Close() // until then it is held
	second, err := hold(record, "host", false)
	if err != nil || second.name != "host-2" {
		t.Errorf("%+v, %v", second, err)
	}
	if _, err := hold(record, "host", true); err == nil || !strings.Contains(err.Error(), "--node host") {
		t.Errorf("%v", err)
	}
	if other, err := hold(record+"x", "host", true); err != nil || other.name != "host" {
		t.Errorf("another job: %+v, %v", other, err)
	}
	if long, err := hold(record, strings.Repeat("n", 300), true); err != nil {
		t.Errorf("%+v, %v", long, err)
	}
}
