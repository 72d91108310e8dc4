package platform

import "testing"

func TestDetect(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		host string
		kind Kind
		job  string
		node string
	}{
		{"a laptop", nil, "laptop", Alone, "", "laptop"},
		{"PyTorchJob with a master", map[string]string{"PYTHONUNBUFFERED": "1", "MASTER_ADDR": "bert-master-0", "MASTER_PORT": "23456",
			"PET_MASTER_ADDR": "bert-master-0", "PET_MASTER_PORT": "23456", "WORLD_SIZE": "4", "RANK": "1", "PET_NODE_RANK": "1",
			"PET_NNODES": "4", "PET_NPROC_PER_NODE": "auto"}, "bert-worker-0", PyTorchJob, "bert", "bert-worker-0"},
		{"elastic PyTorchJob", map[string]string{"PET_RDZV_ENDPOINT": "bert-worker-0:23456", "PET_RDZV_BACKEND": "c10d",
			"PET_NNODES": "1:4", "PET_STANDALONE": ""}, "bert-worker-2", PyTorchJob, "bert", "bert-worker-2"},
		{"PyTorchJob of workers alone", map[string]string{"PYTHONUNBUFFERED": "1", "PET_NNODES": "3", "PET_NPROC_PER_NODE": "auto"},
			"bert-worker-1", PyTorchJob, "", "bert-worker-1"},
		{"TrainJob", map[string]string{"PET_NNODES": "2", "PET_NPROC_PER_NODE": "4", "PET_NODE_RANK": "1",
			"PET_MASTER_ADDR": "llama-node-0-0.llama", "PET_MASTER_PORT": "29500"}, "llama-node-0-1", TrainJob, "llama", "llama-node-0-1"},
		{"TFJob", map[string]string{"TF_CONFIG": `{"cluster":{"ps":["mnist-ps-0.ns.svc:2222"],"worker":["mnist-worker-0.ns.svc:2222","mnist-worker-1.ns.svc:2222"]},"task":{"type":"worker","index":1},"environment":"cloud"}`},
			"mnist-worker-1", TFJob, "mnist", "mnist-worker-1"},
		{"TFJob with dynamic workers", map[string]string{"TF_CONFIG": `{"cluster":{"worker":{"1":"mnist-worker-1.ns.svc:2222"},"ps":["mnist-ps-0.ns.svc:2222"]},"task":{"type":"worker","index":1}}`},
			"mnist-worker-1", TFJob, "mnist", "mnist-worker-1"},
		{"TF_CONFIG of somebody else", map[string]string{"TF_CONFIG": `{"cluster":{"worker":["10.0.0.1:2222"]},"task":{"type":"worker","index":0}}`},
			"h", Alone, "", "h"},
		{"a broken TF_CONFIG", map[string]string{"TF_CONFIG": `{`}, "h", Alone, "", "h"},
		{"Indexed Job", map[string]string{"JOB_COMPLETION_INDEX": "3"}, "train-3", IndexedJob, "train", "train-3"},
		{"JobSet", map[string]string{"JOB_COMPLETION_INDEX": "3", "JOBSET_NAME": "set"}, "set-workers-0-3", IndexedJob, "set", "set-workers-0-3"},
		{"SLURM", map[string]string{"SLURM_JOB_ID": "17", "SLURM_JOB_NAME": "gpt", "SLURMD_NODENAME": "node7", "SLURM_LOCALID": "0"},
			"node7.cluster", SLURM, "gpt", "node7"},
		{"SLURM, two on a host", map[string]string{"SLURM_JOB_ID": "17", "SLURMD_NODENAME": "node7", "SLURM_LOCALID": "1"},
			"node7", SLURM, "17", "node7-1"},
		{"a rendezvous id", map[string]string{"PET_RDZV_ID": "run5"}, "h", Alone, "run5", "h"},
		{"torchrun's default id is none", map[string]string{"PET_RDZV_ID": "none"}, "h", Alone, "", "h"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Detect(func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }, tt.host)
			if p.Kind != tt.kind || p.Job.Value != tt.job || p.Node.Value != tt.node {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestRetriesWithoutLimit(t *testing.T) {
	for kind, want := range map[Kind]bool{PyTorchJob: true, TFJob: true, TrainJob: false, IndexedJob: false, SLURM: false, Alone: false} {
		if got := (Platform{Kind: kind}).RetriesWithoutLimit(); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
}
