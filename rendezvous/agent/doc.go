// Package agent takes part in a job's rounds for one node. It joins the job's store, tells there how the node's workers
// stand, hears when the next round begins or the current one ends, and passes that on as orders. One node of all, the
// leader, decides; each agent is a candidate, too.
//
// What is decided is decided by package rendezvous: React for the node, Decide for the leader. This package is the shell
// around the two: it reads, writes and waits. Each half is one goroutine that owns its state; what may block on the
// network runs in goroutines of its own, and its result comes back as an event.
package agent
