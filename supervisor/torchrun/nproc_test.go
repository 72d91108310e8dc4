package torchrun

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"
)

func TestWorkers(t *testing.T) {
	for _, tt := range []struct {
		nproc string
		gpus  int
		err   error
		want  int // 0: refused
	}{
		{"1", 0, nil, 1},
		{" 1_6 ", 0, nil, 16},
		{"cpu", 8, nil, 6},
		{"gpu", 8, nil, 8},
		{"auto", 8, nil, 8},
		{"auto", 0, nil, 6},
		{"gpu", 0, nil, 0},
		{"gpu", 0, errors.New("AMD"), 0},
		{"auto", 0, errors.New("AMD"), 0},
		{"0", 0, nil, 0},
		{"-1", 0, nil, 0},
		{"1.5", 8, nil, 0},
		{"", 8, nil, 0},
		{"xpu", 8, nil, 0},
		{"npu", 8, nil, 0},
		{"GPU", 8, nil, 0},
	} {
		have := Devices{CPUs: func() int { return 6 }, GPUs: func() (int, error) { return tt.gpus, tt.err }}
		o := Options{NProc: tt.nproc, Given: map[string]string{"nproc-per-node": "PET_NPROC_PER_NODE"}}
		got, err := o.Workers(have)
		var wrong *FlagError
		named := errors.As(err, &wrong) && wrong.Source == "PET_NPROC_PER_NODE"
		if got != tt.want || (err == nil) != (tt.want > 0) || err != nil && !named {
			t.Errorf("%q with %d GPUs: %d, %v; want %d", tt.nproc, tt.gpus, got, err, tt.want)
		}
	}
}

// node is the file system of a node with GPUs whose UUIDs are GPU-a0…, GPU-a1…, GPU-b2….
func node(devices ...string) fs.FS {
	root := fstest.MapFS{"dev/null": {}, "dev/nvidiactl": {}, "dev/nvidia-uvm": {}}
	for i, uuid := range []string{"GPU-a0", "GPU-a1", "GPU-b2"} {
		file := fmt.Sprintf("proc/driver/nvidia/gpus/0000:0%d:00.0/information", i)
		text := fmt.Appendf(nil, "Model: \t\t NVIDIA X\nGPU UUID: \t %s\nDevice Minor: \t %d\n", uuid, i)
		root[file] = &fstest.MapFile{Data: text}
	}
	for _, d := range devices {
		root["dev/"+d] = &fstest.MapFile{}
	}
	return root
}

func TestCountGPUs(t *testing.T) {
	three := node("nvidia0", "nvidia1", "nvidia2")
	bare := fstest.MapFS{"dev/nvidia0": {}, "dev/nvidia1": {}}
	unset := "unset"
	for _, tt := range []struct {
		name    string
		root    fs.FS
		visible string
		want    int
	}{
		{"all", three, unset, 3},
		{"none there", node(), unset, 0},
		{"none there, though some are chosen", node(), "0,1", 0},
		{"empty", three, "", 0},
		{"minus one", three, "-1", 0},
		{"not a number", three, "NoDevFiles", 0},
		{"one", three, "2", 1},
		{"two", three, " 2 , 0", 2},
		{"up to minus one", three, "0,-1,1", 1},
		{"up to one that is not there", three, "0,3,1", 1},
		{"one twice", three, "0,1,0", 0},
		{"what follows the digits", three, "1gpu2,2ampere", 2},
		{"a lone sign", three, "+,1", 0},
		{"UUIDs", three, "GPU-a0,GPU-b2", 2},
		{"the beginnings of UUIDs", three, "GPU-b", 1},
		{"an ambiguous beginning", three, "GPU-b2,GPU-a", 1},
		{"an unknown UUID", three, "GPU-a0,GPU-x,GPU-b2", 1},
		{"a UUID twice", three, "GPU-a0,GPU-a0", 0},
		{"a UUID of a GPU that this container has not", node("nvidia0"), "GPU-a1", 0},
		{"UUIDs where the driver tells none", bare, "GPU-x,GPU-y,GPU-z", 2},
		{"slices of a GPU", three, "MIG-1,MIG-2", 1},
	} {
		env := map[string]string{"CUDA_VISIBLE_DEVICES": tt.visible, "NVIDIA_VISIBLE_DEVICES": "all"}
		if tt.visible == unset {
			delete(env, "CUDA_VISIBLE_DEVICES")
		}
		if got, err := CountGPUs(tt.root, environment(env)); got != tt.want || err != nil {
			t.Errorf("%s: %d, %v; want %d", tt.name, got, err, tt.want)
		}
	}
	for _, v := range []string{"void", "none"} {
		if got, err := CountGPUs(three, environment(map[string]string{"NVIDIA_VISIBLE_DEVICES": v})); got != 0 || err != nil {
			t.Errorf("NVIDIA_VISIBLE_DEVICES=%s: %d, %v", v, got, err)
		}
	}
	for _, device := range []string{"kfd", "dxg"} {
		if got, err := CountGPUs(fstest.MapFS{"dev/" + device: {}}, nothing); err == nil {
			t.Errorf("/dev/%s: %d, no error", device, got)
		}
	}
	if _, err := CountGPUs(fstest.MapFS{}, nothing); err == nil {
		t.Error("no error without /dev")
	}
}

func FuzzCountGPUs(f *testing.F) {
	f.Add("0,1gpu,-1")
	f.Add("GPU-a,GPU-b")
	root := node("nvidia0", "nvidia1")
	f.Fuzz(func(t *testing.T, visible string) {
		n, err := CountGPUs(root, environment(map[string]string{"CUDA_VISIBLE_DEVICES": visible}))
		if err != nil || n < 0 || n > 2 {
			t.Errorf("%q: %d, %v", visible, n, err)
		}
	})
}
