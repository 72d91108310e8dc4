package run_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

type checked struct{ Name, State, Detail string }

func doctor(t *testing.T, env []string, flags ...string) (map[string]checked, int) {
	t.Helper()
	res := harness.Run(t, limit, env, append([]string{harness.Binary(t), "doctor", "-o", "json"}, flags...)...)
	var list []checked
	if err := json.Unmarshal([]byte(res.Stdout), &list); err != nil {
		t.Fatalf("exit code %d, %v: %s%s", res.Code, err, res.Stdout, res.Stderr)
	}
	found := map[string]checked{}
	for _, c := range list {
		found[c.Name] = c
		if c.Name == "" || c.Detail == "" || c.State != "ok" && c.State != "warn" && c.State != "fail" {
			t.Errorf("%+v", c)
		}
	}
	return found, res.Code
}

// TestDoctor looks at this machine, whose memory and kernel differ from the next one's, so only by structure.
func TestDoctor(t *testing.T) {
	found, _ := doctor(t, nil)
	for _, name := range []string{"environment", "process 1", "output", "termination log", "memory cgroup", "kills for memory", "/dev/shm", "temporary files",
		"kernel log", "grace", "GPUs", "Xids", "network links", "disk", "store", "clock", "limits"} {
		if _, there := found[name]; !there {
			t.Errorf("nothing about %q in %v", name, found)
		}
	}
	text := harness.Run(t, limit, nil, harness.Binary(t), "doctor").Stdout
	if lines := strings.Count(text, "\n"); lines != len(found) {
		t.Errorf("%d lines about %d checks:\n%s", lines, len(found), text)
	}
}

// TestDoctorFindsTheOperator names who started the container and the variables that tell.
func TestDoctorFindsTheOperator(t *testing.T) {
	tests := []struct {
		env  []string
		says []string
	}{
		{[]string{"PET_NNODES=2", "MASTER_ADDR=llm-master-0", "MASTER_PORT=1"}, []string{"PyTorchJob", "PET_NNODES", "job llm"}},
		{[]string{`TF_CONFIG={"cluster":{"worker":["mnist-worker-0.ns.svc:2222"]},"task":{"type":"worker","index":0}}`},
			[]string{"TFJob", "TF_CONFIG", "job mnist"}},
		{[]string{"PET_NNODES=2", "PET_MASTER_ADDR=llm-node-0-0.llm"}, []string{"TrainJob", "PET_MASTER_ADDR", "job llm"}},
		{[]string{"JOB_COMPLETION_INDEX=3", "JOBSET_NAME=set"}, []string{"IndexedJob", "JOB_COMPLETION_INDEX", "job set"}},
		{[]string{"SLURM_JOB_ID=7", "SLURM_JOB_NAME=bert"}, []string{"SLURM", "SLURM_JOB_ID", "job bert"}},
	}
	for _, tt := range tests {
		found, _ := doctor(t, tt.env)
		for _, s := range tt.says {
			if !strings.Contains(found["environment"].Detail, s) {
				t.Errorf("%v: %q does not say %q", tt.env, found["environment"].Detail, s)
			}
		}
	}
}

// TestDoctorFails when something is wrong, and says what.
func TestDoctorFails(t *testing.T) {
	found, code := doctor(t, nil, "--termination-log", "/no/such/directory/log/")
	if c := found["termination log"]; code != 1 || c.State != "fail" || !strings.Contains(c.Detail, "/no/such/directory") {
		t.Errorf("exit code %d, %+v", code, c)
	}
}
