package agent

import (
	"testing"

	"github.com/gangrun/gangrun/rendezvous"
)

// TestSpecIsHashedOnce has a member ask in each of its turns whether the job's record has its spec: only a record that was
// read again is hashed, which allocates.
func TestSpecIsHashedOnce(t *testing.T) {
	spec := rendezvous.DefaultSpec(2)
	n := &node{Agent: &Agent{}}
	n.record.State, n.record.SpecHash = rendezvous.NodeRunning, spec.Hash()
	n.reading.Job = &rendezvous.Job{Spec: spec}
	if n.spec() != nil {
		t.Fatal("a member tells a spec that the job's record has")
	}
	if allocated := testing.AllocsPerRun(100, func() { n.spec() }); allocated > 0 {
		t.Errorf("a turn of a member allocates %v times for the spec of a record that it knows", allocated)
	}
	other := spec
	other.MinNodes++
	n.reading.Job = &rendezvous.Job{Spec: other}
	if n.spec() == nil {
		t.Error("a record with another spec was read, and the node's own is not told")
	}
}
