package platform

import "testing"

func TestTopology(t *testing.T) {
	const config = `{"cluster":{"chief":["j-chief-0.ns.svc:2222"],"worker":["j-worker-0.ns.svc:2222","j-worker-1.ns.svc:2222"]},` +
		`"task":{"type":"worker","index":1},"environment":"cloud"}`
	for _, test := range []struct {
		name    string
		env     map[string]string
		several bool
		nodes   string
		rank    string
		host    string
		port    int
		unique  bool
	}{
		{"nobody", nil, false, "", "", "", 0, false},
		{"PyTorchJob", map[string]string{"PET_NNODES": "3", "PET_NODE_RANK": "1", "MASTER_ADDR": "j-master-0", "PET_MASTER_ADDR": "j-master-0",
			"PET_MASTER_PORT": "23456"}, true, "3", "1", "j-master-0", 0, true},
		{"PyTorchJob of one", map[string]string{"PET_NNODES": "1", "PET_NODE_RANK": "0", "MASTER_ADDR": "j-master-0"}, false, "1", "0", "j-master-0", 0, true},
		{"elastic PyTorchJob", map[string]string{"PET_NNODES": "1:4", "PET_RDZV_ENDPOINT": "j-worker-0:23456", "PET_RDZV_BACKEND": "c10d"},
			true, "1:4", "", "j-worker-0", 23456, true},
		{"TrainJob", map[string]string{"PET_NNODES": "2", "PET_NODE_RANK": "1", "PET_MASTER_ADDR": "t-node-0-0.t"}, true, "2", "1", "t-node-0-0.t", 0, false},
		{"TFJob", map[string]string{"TF_CONFIG": config}, true, "3", "2", "j-chief-0.ns.svc", 0, true},
		{"Slurm", map[string]string{"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2", "SLURM_PROCID": "1",
			"SLURM_STEP_NODELIST": "n[03-05]"}, true, "2", "1", "n03", 0, false},
		{"a batch script", map[string]string{"SLURM_JOB_ID": "7", "SLURM_NTASKS": "2", "SLURM_PROCID": "0"}, false, "", "", "", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Detect(func(name string) (string, bool) { v, ok := test.env[name]; return v, ok }, "host")
			host, port := p.Host()
			if p.Nodes.OneNode() == test.several || p.Nodes.Value != test.nodes || p.Rank.Value != test.rank || host != test.host ||
				port != test.port || p.Unique != test.unique {
				t.Errorf("%+v", p.Topology)
			}
		})
	}
}

func TestFirstHost(t *testing.T) {
	for list, want := range map[string]string{
		"n1": "n1", "n1,n2": "n1", "n[1-3]": "n1", "rack1n[03-05,7],login": "rack1n03", "n[1,2]-ib,x": "n1-ib", "n[7]": "n7", "": "", "n[": "n",
	} {
		if got := firstHost(list); got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}

func FuzzHosts(f *testing.F) {
	f.Add("rack1n[03-05,7],login", "2:4", "[::1]:29500")
	f.Add("n[1-2]-ib", "4", "j-master-0:x")
	f.Fuzz(func(t *testing.T, list, nodes, endpoint string) {
		if host := firstHost(list); len(host) > len(list) {
			t.Errorf("%q: %q", list, host)
		}
		of := Topology{Nodes: Value{Value: nodes}, Endpoint: Value{Value: endpoint}}
		of.Nodes.OneNode()
		if host, _ := of.Host(); len(host) > len(endpoint) {
			t.Errorf("%q: %q", endpoint, host)
		}
	})
}
