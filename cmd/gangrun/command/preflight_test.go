package command

import (
	"slices"
	"testing"

	"github.com/gangrun/gangrun/supervisor/preflight"
)

// TestStoreAddresses are what is tried to reach, and whether that may be another machine.
func TestStoreAddresses(t *testing.T) {
	for name, tt := range map[string]struct {
		host      string
		port      int
		endpoints []string
		want      []string
		elsewhere bool
	}{
		"within this process": {},
		"within gangrun":      {host: "n0", port: 29400, want: []string{"n0:29400"}, elsewhere: true},
		"on this machine":     {host: "::1", port: 29400, want: []string{"[::1]:29400"}},
		"an etcd": {
			endpoints: []string{"http://etcd:2379", "https://10.0.0.2", "[fd00::1]"},
			want:      []string{"etcd:2379", "10.0.0.2:2379", "[fd00::1]:2379"}, elsewhere: true,
		},
		"an etcd here": {endpoints: []string{"http://127.0.0.1:2379", "localhost:1"}, want: []string{"127.0.0.1:2379", "localhost:1"}},
	} {
		o := defaultOptions()
		o.location.Host, o.location.Port, o.location.Endpoints = tt.host, tt.port, tt.endpoints
		got := o.storeAddresses()
		if !slices.Equal(got, tt.want) || slices.ContainsFunc(got, onAnotherMachine) != tt.elsewhere {
			t.Errorf("%s: %q, want %q, elsewhere: %t", name, got, tt.want, tt.elsewhere)
		}
	}
}

// TestChecksOf has doctor say each thing once.
func TestChecksOf(t *testing.T) {
	got := checksOf([]preflight.Result{
		{Probe: "disk", State: preflight.Note, Detail: "slow", Do: "wait"}, {Probe: preflight.ProbeSharedMemory, State: preflight.OK, Detail: "x"},
		{Probe: "GPUs", State: preflight.Sick, Detail: "gone"},
	})
	want := []check{{"disk", "warn", "slow; wait"}, {"GPUs", "fail", "gone"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
