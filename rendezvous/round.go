package rendezvous

import "time"

// Round is the record of one round, under the key "rounds/<number>". It is written once, in the transaction that makes
// the job run it, and never changed.
type Round struct {
	V      int    `json:"v,omitempty"`
	Store  string `json:"store,omitempty"`
	RunUID string `json:"runUid,omitempty"`
	Number int    `json:"number"`
	// Members in the order of their ranks: the rank is the index.
	Members []Member `json:"members,omitempty"`
	// MemberList is the name of the list that has them, where they are not here. See Split.
	MemberList string `json:"memberList,omitempty"`
	MasterAddr string `json:"masterAddr"`
	MasterPort int    `json:"masterPort"`
	Resume     Resume `json:"resume"`
	// Fence is the fence time that the members go by, whatever becomes of the job's spec.
	Fence Duration  `json:"fence"`
	At    time.Time `json:"at"`
}

// Member is one node of a round.
type Member struct {
	Name        string `json:"name"`
	Incarnation string `json:"incarnation"`
	Role        string `json:"role,omitempty"`
	Slots       int    `json:"slots"`
	Host        string `json:"host,omitempty"` // see HostName
	// What a newcomer must have in common with this member to be a proof of its death.
	BootID string `json:"bootId,omitempty"`
	PIDNS  string `json:"pidNs,omitempty"`
	Unique bool   `json:"unique,omitempty"`
}

// How a round begins.
const (
	ResumeFresh    = "fresh"    // from the start, or from whatever the training finds by itself
	ResumeNewest   = "resume"   // from the newest checkpoint that all have
	ResumeFallback = "fallback" // from the one before it
)

// Resume is the one checkpoint that all members of a round start from.
type Resume struct {
	Decision string `json:"decision"`
	Step     *int64 `json:"step,omitempty"`
	// Unit is what Step counts: "epoch", or nothing for steps. Identity stands for a checkpoint that says no step.
	Unit     string `json:"unit,omitempty"`
	Identity string `json:"identity,omitempty"`
	// Why says why it is none, where some nodes have one.
	Why string `json:"why,omitempty"`
}

// Rank is the rank of the node in this round, -1 when it is no member.
func (r *Round) Rank(name, incarnation string) int {
	for rank, m := range r.Members {
		if m.Name == name && m.Incarnation == incarnation {
			return rank
		}
	}
	return -1
}

// World is the number of workers, and first the global rank of the first worker of the member with this rank.
func (r *Round) World(rank int) (world, first int) {
	for i, m := range r.Members {
		if i == rank {
			first = world
		}
		world += m.Slots
	}
	return world, first
}
