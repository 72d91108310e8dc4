package rendezvous

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// When a host is kept out of the rounds. Three faults make a ban, and it takes one half-life without another to end it.
const (
	banAt    = 3
	halfLife = 6 * time.Hour
	// bannedShare is of how many hosts one may be banned.
	bannedShare = 10
)

// Bounds of what is remembered of hosts: which ones, and what of each.
const (
	maxHosts  = 48
	maxFaults = 4
	// hostChanges bounds of how many hosts one decision changes the records: all has to fit into one transaction.
	hostChanges = 40
	// forgotten is the score from which on a host counts as one that never had a fault.
	forgotten = 0.25
	// maxScore bounds what a broken record can say.
	maxScore = 1e6
)

// Host is what the leader remembers of a machine on which something went wrong, under the key "hosts/<host>".
type Host struct {
	V int `json:"v"`
	// Points is the score at At, when the last fault was counted, and Round that fault's round. At is by the job's clock:
	// see Job.Clock.
	Points float64   `json:"score"`
	At     time.Time `json:"at"`
	Round  int       `json:"round"`
	// Banned is set while the host is kept out, as of the leader's last word.
	Banned bool    `json:"banned,omitempty"`
	Faults []Fault `json:"faults,omitempty"` // the latest, the newest last
}

// Fault is one thing that went wrong on a host.
type Fault struct {
	Round   int       `json:"round"`
	Node    string    `json:"node"` // that ran there
	Reason  string    `json:"reason"`
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at"` // by the job's clock
}

// Score is what is left of the points: a half after each half-life in which nothing more has happened there.
func (h *Host) Score(at time.Time) float64 {
	return h.Points / math.Exp2(float64(max(0, at.Sub(h.At)/halfLife)))
}

// BannedUntil is when the score is below what bans a host, if nothing more happens; zero where it never was above.
func (h *Host) BannedUntil() time.Time {
	if h.Points < banAt {
		return time.Time{}
	}
	until := h.At
	for points := h.Points; points >= banAt; points /= 2 {
		until = until.Add(halfLife)
	}
	return until
}

// with is the host after another fault. One that is from before the last one counts as of the same time: some clock went
// back.
func (h *Host) with(f Fault) *Host {
	after := &Host{V: version, Points: 1, At: f.At, Round: f.Round, Faults: []Fault{f}}
	if h != nil {
		after.Points = min(h.Score(f.At)+1, maxScore)
		after.Faults = last(append(slices.Clone(h.Faults), f), maxFaults)
	}
	return after
}

// notAfter is the host with nothing later than that.
func (h *Host) notAfter(at time.Time) *Host {
	is := *h
	is.At, is.Faults = at.UTC(), slices.Clone(h.Faults)
	for i := range is.Faults {
		if f := &is.Faults[i]; f.At.After(at) {
			f.At = at.UTC()
		}
	}
	return &is
}

// last is the newest fault, as far as any is remembered.
func (h *Host) last() Fault {
	if len(h.Faults) == 0 {
		return Fault{Round: h.Round, At: h.At}
	}
	return h.Faults[len(h.Faults)-1]
}

// String is the fault in words.
func (f Fault) String() string {
	text := fmt.Sprintf("%s of %s in round %d", f.Reason, f.Node, f.Round)
	if f.Message != "" {
		text += " (" + f.Message + ")"
	}
	return text
}

// maxFaultText bounds the words of one fault, in bytes.
const maxFaultText = 200

func newFault(round int, node, reason, message string, at time.Time) Fault {
	return Fault{
		Round: round, Node: node, Reason: cutTo(cmp.Or(reason, exitcodes.ReasonNodeUnhealthy), maxSaidRule),
		Message: cutTo(message, maxFaultText), At: at.UTC(),
	}
}

// ParseHost reads the value of a key "hosts/<host>". Its errors name the key and what is wrong with it.
func ParseHost(key string, b []byte) (*Host, error) {
	return parse(key, b, maxHostBytes, (*Host).check)
}

// maxHostBytes bounds the key's value.
const maxHostBytes = 4 << 10

func (h *Host) check() error {
	switch {
	case !(h.Points >= 0 && h.Points <= maxScore):
		return fmt.Errorf("score %v, want 0 to %v", h.Points, maxScore)
	case h.Round < -1 || h.Round > maxNumber:
		return fmt.Errorf("round %d", h.Round)
	case len(h.Faults) > maxFaults:
		return fmt.Errorf("%d faults, at most %d", len(h.Faults), maxFaults)
	}
	for _, f := range h.Faults {
		if err := f.check(); err != nil {
			return err
		}
	}
	return nil
}

func (f Fault) check() error {
	if len(f.Node) > maxName || len(f.Reason) > maxName || len(f.Message) > maxText {
		return fmt.Errorf("a fault of node %q: want names, and a text of at most %d bytes", cut(f.Node), maxText)
	}
	return nil
}

// Ban is a host that is kept out, as the job's record tells the nodes. Times are the leader's, as all others there.
type Ban struct {
	Host  string    `json:"host"`
	Score float64   `json:"score"` // at the last fault
	Last  Fault     `json:"last"`
	Until time.Time `json:"until"` // if nothing more happens
}

// Ban is why nodes of this host are kept out at the time, nil where they are not.
func (j *Job) Ban(host string, at time.Time) *Ban {
	for i := range j.Bans {
		if b := &j.Bans[i]; b.Host == host && at.Before(b.Until) {
			return b
		}
	}
	return nil
}

// Says is the ban in words, for whom it keeps waiting.
func (b *Ban) Says() string {
	return fmt.Sprintf("host %s is banned until %s, the last of its faults: %s; gangrun unban %s lifts that",
		b.Host, b.Until.UTC().Format(BanTime), b.Last, b.Host)
}

func (b *Ban) check() error {
	if !name(b.Host) || !(b.Score >= 0 && b.Score <= maxScore) {
		return fmt.Errorf("ban of host %q with score %v", cut(b.Host), b.Score)
	}
	return b.Last.check()
}

// BanTime is how the end of a ban is written: it may be another day's.
const BanTime = "2006-01-02 15:04:05 MST"

// HostName is the machine that the node runs on: what it was told, else its boot, which all containers there share.
func (n *Node) HostName() string { return cmp.Or(n.Host, n.BootID) }

// HostName is the machine that the member runs on.
func (m *Member) HostName() string { return cmp.Or(m.Host, m.BootID) }
