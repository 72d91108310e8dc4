package torchrun

import (
	"slices"
	"strings"
	"testing"
)

func place() Place {
	p := Even(1, 2, 4)
	p.MasterAddr, p.MasterPort, p.RunID, p.Role = "node-0", 29500, "job-1", "trainer"
	p.RestartCount, p.MaxRestarts = 1, 3
	return p
}

func TestEnvironment(t *testing.T) {
	o := mustParse(t, "--signals-to-handle SIGTERM,SIGUSR1 train.py", nil)
	inherited := []string{"PATH=/bin", "RANK=9", "RANK=8", "ODD", "TORCHELASTIC_USE_AGENT_STORE=True",
		"PATH=/sbin", "EMPTY=", "CUDA_VISIBLE_DEVICES=3"}
	got, err := Environment(place(), o, 2, inherited, "/logs/error.json")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"CUDA_VISIBLE_DEVICES=3", "EMPTY=", "GROUP_RANK=1", "GROUP_WORLD_SIZE=2", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=4",
		"MASTER_ADDR=node-0", "MASTER_PORT=29500", "OMP_NUM_THREADS=1", "PATH=/bin", "RANK=6", "ROLE_NAME=trainer",
		"ROLE_RANK=6", "ROLE_WORLD_SIZE=8", "TORCHELASTIC_ERROR_FILE=/logs/error.json", "TORCHELASTIC_MAX_RESTARTS=3",
		"TORCHELASTIC_RESTART_COUNT=1", "TORCHELASTIC_RUN_ID=job-1", "TORCHELASTIC_SIGNALS_TO_HANDLE=SIGTERM,SIGUSR1",
		"TORCHELASTIC_USE_AGENT_STORE=False", "TORCH_NCCL_ASYNC_ERROR_HANDLING=1", "WORLD_SIZE=8",
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEnvironmentKeepsWhatWasSet(t *testing.T) {
	const nccl = "TORCH_NCCL_ASYNC_ERROR_HANDLING"
	for _, tt := range []struct {
		nproc     int
		inherited []string
		name      string
		want      string // "" for not there at all
	}{
		{1, nil, "OMP_NUM_THREADS", ""},
		{2, []string{"OMP_NUM_THREADS="}, "OMP_NUM_THREADS", "OMP_NUM_THREADS="},
		{2, []string{"OMP_NUM_THREADS=7"}, "OMP_NUM_THREADS", "OMP_NUM_THREADS=7"},
		{1, []string{nccl + "=0"}, nccl, nccl + "=0"},
		{1, nil, "CUDA_VISIBLE_DEVICES", ""},
	} {
		env, err := Environment(Even(0, 1, tt.nproc), Options{}, 0, tt.inherited, "")
		got := ""
		for _, entry := range env {
			if strings.HasPrefix(entry, tt.name+"=") {
				got = entry
			}
		}
		if err != nil || got != tt.want {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
}

func TestVirtualLocalRank(t *testing.T) {
	for _, tt := range []struct {
		inherited []string
		want      []string // nil: refused
	}{
		{nil, []string{"CUDA_VISIBLE_DEVICES=1"}},
		{[]string{"CUDA_VISIBLE_DEVICES=4, 6 "}, []string{"CUDA_VISIBLE_DEVICES=6"}},
		{[]string{"CUDA_VISIBLE_DEVICES=4,6", "HIP_VISIBLE_DEVICES=2,3"},
			[]string{"CUDA_VISIBLE_DEVICES=3", "HIP_VISIBLE_DEVICES=3"}},
		{[]string{"CUDA_VISIBLE_DEVICES=4,6", "HIP_VISIBLE_DEVICES="},
			[]string{"CUDA_VISIBLE_DEVICES=6", "HIP_VISIBLE_DEVICES="}},
		{[]string{"CUDA_VISIBLE_DEVICES=4"}, nil},
		{[]string{"CUDA_VISIBLE_DEVICES="}, nil},
	} {
		env, err := Environment(Even(0, 1, 2), Options{VirtualLocalRank: true}, 1, tt.inherited, "")
		if (err != nil) != (tt.want == nil) {
			t.Errorf("%q: %v", tt.inherited, err)
			continue
		}
		if err == nil && !slices.Contains(env, "LOCAL_RANK=0") {
			t.Errorf("%q: %q", tt.inherited, env)
		}
		var devices []string
		for _, entry := range env {
			if strings.Contains(entry, "VISIBLE_DEVICES") {
				devices = append(devices, entry)
			}
		}
		slices.Sort(devices)
		if !slices.Equal(devices, tt.want) {
			t.Errorf("%q: %q, want %q", tt.inherited, devices, tt.want)
		}
	}
}
