package agent

import "github.com/gangrun/gangrun/rendezvous"

// spec is what the node's key tells of the job as this node would have it. That of a member tells nothing: the job's
// record has the same, and a restart writes and sends it for every node. Should that record be lost, it is told again.
func (n *node) spec() *rendezvous.Spec {
	j := n.reading.Job
	member := n.record.State == rendezvous.NodeRunning || n.record.State == rendezvous.NodeStopped
	if member && n.goneAt == 0 && j != nil && j.Store == n.record.Store && j.RunUID == n.record.RunUID && n.hashed.of(j) == n.record.SpecHash {
		return nil
	}
	spec := n.cfg.Spec
	return &spec
}

// hashed is the hash of the spec in a job's record. The node asks for it in each of its turns, and a record is read once.
type hashed struct {
	job  *rendezvous.Job
	hash string
}

func (h *hashed) of(j *rendezvous.Job) string {
	if h.job != j {
		h.job, h.hash = j, j.Spec.Hash()
	}
	return h.hash
}
