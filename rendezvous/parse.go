package rendezvous

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gangrun/gangrun/exitcodes"
)

// The most bytes that are read of a value. A round is as large as a request to etcd may be.
const (
	maxJobBytes     = 128 << 10
	maxRoundBytes   = 1536 << 10
	maxNodeBytes    = 256 << 10
	maxControlBytes = 4 << 10

	maxCheckpoints = 1024
	maxSlots       = 4096
	maxNumber      = 1 << 40 // of rounds and sequence numbers: nothing real comes near it
)

// ParseJob reads the value of the key "job". Its errors, like those of the other parsers, name the key and what is
// wrong with it.
func ParseJob(key string, b []byte) (*Job, error) {
	j, _, err := ParseBeginning(key, b)
	return j, err
}

// ParseRound reads the value of a key "rounds/<number>". Its errors name the key and what is wrong with it.
func ParseRound(key string, b []byte) (*Round, error) {
	return parse(key, b, maxRoundBytes, (*Round).check)
}

// ParseNode reads the value of a key "nodes/<name>". Its errors name the key and what is wrong with it.
func ParseNode(key string, b []byte) (*Node, error) {
	n, err := parse(key, b, maxNodeBytes, (*Node).check)
	if err != nil {
		return nil, err
	}
	n.Outcome = n.Outcome.understood()
	if n.Carried != nil {
		n.Carried.understand()
	}
	return n, nil
}

// ParseControl reads the value of a key "control/<id>". Its errors name the key and what is wrong with it.
func ParseControl(key string, b []byte) (*Control, error) {
	return parse(key, b, maxControlBytes, (*Control).check)
}

// Encode writes a record as the parsers read it, as one line of JSON. It sets nothing: V must be 1. It fails only on a time
// that JSON cannot hold.
func Encode[R Job | beginning | Round | Node | Control | MemberList | Reached | Host](r *R) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("cannot write the record: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// written is how every record begins that Encode has written. Which version such a one is of needs no decoding.
var written = []byte(fmt.Sprintf(`{"v":%d,`, version))

// checkVersion reads the version alone: a later format may have other types under the same keys.
func checkVersion(key string, b []byte) error {
	var head struct {
		V *int `json:"v"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	switch {
	case head.V == nil:
		return fmt.Errorf("%s: the key \"v\" is missing, want %d", key, version)
	case *head.V != version:
		return fmt.Errorf("%s: version %d, only version %d can be read: all nodes need the same gangrun",
			key, *head.V, version)
	}
	return nil
}

func parse[R any](key string, b []byte, limit int, check func(*R) error) (*R, error) {
	if len(b) > limit {
		return nil, fmt.Errorf("%s: %d bytes, at most %d are read", key, len(b), limit)
	}
	if !bytes.HasPrefix(b, written) {
		if err := checkVersion(key, b); err != nil {
			return nil, err
		}
	}
	r := new(R)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if err := check(r); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return r, nil
}

func (j *Job) check() error {
	switch {
	case !name(j.Store) || !name(j.RunUID) || len(j.SettledStore) > maxName:
		return fmt.Errorf("store %q, runUid %q: want 1 to %d printable bytes each", cut(j.Store), cut(j.RunUID), maxName)
	case j.Round < -1 || j.NextRound <= j.Round || j.NextRound > maxNumber || j.Seq < 0 || j.Seq > maxNumber || j.SinceSeq < 0:
		return fmt.Errorf("round %d, next %d, seq %d: want -1 <= round < next and seq >= 0", j.Round, j.NextRound, j.Seq)
	case len(j.Handled) > maxHandled || len(j.History) > maxHistory || len(j.Budget.Recent) > maxRecent:
		return fmt.Errorf("%d handled, %d history, %d recent: too many",
			len(j.Handled), len(j.History), len(j.Budget.Recent))
	case j.Phase.finished() != (j.End != nil):
		return fmt.Errorf("phase %s with end %v: an end belongs to Succeeded and Failed", j.Phase, j.End)
	case (j.Phase == Running || j.Phase == Stopping) && j.Round < 0:
		return fmt.Errorf("phase %s without a round", j.Phase)
	case j.Phase == Stopping && j.Stop == nil:
		return fmt.Errorf("phase Stopping does not say why")
	case len(j.Bans) > maxHosts || j.Clock.of().Abs() > mostClock:
		return fmt.Errorf("%d bans, clock %v: too many, or too far", len(j.Bans), j.Clock.of())
	case j.End != nil && j.End.By != (Author{}) && (!name(j.End.By.Name) || !name(j.End.By.Incarnation)):
		return fmt.Errorf("end by name %q, incarnation %q: want 1 to %d printable bytes each",
			cut(j.End.By.Name), cut(j.End.By.Incarnation), maxName)
	}
	switch j.Phase {
	case Forming, Running, Stopping, Suspended, Succeeded, Failed:
	default:
		return fmt.Errorf("phase %q is not one of Forming, Running, Stopping, Suspended, Succeeded, Failed",
			cut(string(j.Phase)))
	}
	for i := range j.Bans {
		if err := j.Bans[i].check(); err != nil {
			return err
		}
	}
	if j.Save != nil {
		if err := j.Save.check(); err != nil {
			return err
		}
	}
	return j.Spec.check()
}

// understand leaves out of the record what another release may have written, and this one does not know.
func (j *Job) understand() {
	if j.Stop != nil {
		j.Stop.Outcome = j.Stop.Outcome.understood()
	}
}

func (r *Round) check() error {
	switch {
	case !name(r.Store) || !name(r.RunUID):
		return fmt.Errorf("store %q, runUid %q: want 1 to %d printable bytes each", cut(r.Store), cut(r.RunUID), maxName)
	case r.Number < 0 || r.Number > maxNumber:
		return fmt.Errorf("number %d, want 0 or more", r.Number)
	case r.Fence <= 0 || r.Fence > maxDuration:
		return fmt.Errorf("fence %v, want more than 0", r.Fence.of())
	case len(r.Members) < 1 && r.MemberList == "":
		return fmt.Errorf("0 members, want 1 to %d", maxNodes)
	case len(r.Resume.Unit) > maxName || len(r.Resume.Identity) > maxName:
		return fmt.Errorf("resume: a unit or an identity is longer than %d bytes", maxName)
	case len(r.Resume.Why) > maxText:
		return fmt.Errorf("resume: why it is none is longer than %d bytes", maxText)
	case len(r.MemberList) > maxName:
		return fmt.Errorf("member list %q: at most %d bytes", cut(r.MemberList), maxName)
	}
	return checkMembers(r.Members)
}

func checkMembers(members []Member) error {
	if len(members) > maxNodes {
		return fmt.Errorf("%d members, want 1 to %d", len(members), maxNodes)
	}
	seen := make(map[string]bool, len(members))
	for rank, m := range members {
		if !name(m.Name) || !name(m.Incarnation) || m.Slots < 1 || m.Slots > maxSlots || len(m.Host) > maxName {
			return fmt.Errorf("member of rank %d: name %q, incarnation %q, %d slots",
				rank, cut(m.Name), cut(m.Incarnation), m.Slots)
		}
		if seen[m.Name] {
			return fmt.Errorf("member %q is there twice", m.Name)
		}
		seen[m.Name] = true
	}
	return nil
}

func (n *Node) check() error {
	switch {
	case !name(n.Store) || !name(n.Incarnation):
		return fmt.Errorf("store %q, incarnation %q: want 1 to %d printable bytes each",
			cut(n.Store), cut(n.Incarnation), maxName)
	case len(n.RunUID) > maxName || len(n.BootID) > maxName || len(n.PIDNS) > maxName || len(n.Address) > maxName ||
		len(n.Role) > maxName || len(n.SpecHash) > maxName || len(n.Host) > maxName:
		return fmt.Errorf("a name is longer than %d bytes", maxName)
	case len(n.Sick) > maxText:
		return fmt.Errorf("why it is sick is longer than %d bytes", maxText)
	case n.Slots < 1 || n.Slots > maxSlots:
		return fmt.Errorf("%d slots, want 1 to %d", n.Slots, maxSlots)
	case n.Port < 0 || n.Port > 65535:
		return fmt.Errorf("port %d", n.Port)
	case n.Pin != nil && (*n.Pin < 0 || *n.Pin >= maxNodes):
		return fmt.Errorf("pinned to rank %d, want 0 to %d", *n.Pin, maxNodes-1)
	case n.Rank != nil && (*n.Rank < 0 || *n.Rank >= maxNodes):
		return fmt.Errorf("rank %d, want 0 to %d", *n.Rank, maxNodes-1)
	case n.Round < -1 || n.Round > maxNumber:
		return fmt.Errorf("round %d", n.Round)
	case n.Next < 0 || n.Next > maxNumber:
		return fmt.Errorf("next round %d", n.Next)
	case n.Checkpoints != nil && max(len(n.Checkpoints.Steps), len(n.Checkpoints.Identities)) > maxCheckpoints:
		return fmt.Errorf("%d checkpoints with a step and %d without, at most %d each",
			len(n.Checkpoints.Steps), len(n.Checkpoints.Identities), maxCheckpoints)
	case n.Checkpoints != nil && (len(n.Checkpoints.Unit) > maxName ||
		slices.ContainsFunc(n.Checkpoints.Identities, func(id string) bool { return !name(id) })):
		return fmt.Errorf("a unit or an identity of checkpoints: want 1 to %d printable bytes each", maxName)
	case n.Checkpoints != nil && max(len(n.Checkpoints.Problem), len(n.Checkpoints.Veto)) > maxText:
		return fmt.Errorf("a sentence about checkpoints is longer than %d bytes", maxText)
	}
	switch n.State {
	case NodeWaiting, NodeRunning, NodeStopped, NodeDone, NodeLeft:
	default:
		return fmt.Errorf("state %q is not one of waiting, running, stopped, done, left", cut(string(n.State)))
	}
	if n.Spec != nil {
		if err := n.Spec.check(); err != nil {
			return err
		}
	}
	if n.Service != nil {
		if err := n.Service.check(); err != nil {
			return err
		}
	}
	if n.Carried != nil {
		if n.Carried.V != version {
			return fmt.Errorf("brings a record of version %d, want %d", n.Carried.V, version)
		}
		if err := n.Carried.check(); err != nil {
			return fmt.Errorf("brings: %w", err)
		}
	}
	return nil
}

// understood is the outcome, or one that says no more than that there was one, where it has a form that only another release
// knows: that a node has stopped is to be heard all the same. What nobody understands is worth another try.
func (o *Outcome) understood() *Outcome {
	if o == nil {
		return nil
	}
	err := o.check()
	if err == nil {
		return o
	}
	return &Outcome{
		Store: o.Store, RunUID: o.RunUID, Round: o.Round, Verdict: exitcodes.Retry, Reason: exitcodes.ReasonError, Code: 1,
		Message: cut("another release of gangrun wrote what has happened: " + err.Error()), Rank: -1, LocalRank: -1,
	}
}

func (o *Outcome) check() error {
	switch o.Verdict {
	case exitcodes.Success, exitcodes.Retry, exitcodes.Fatal, exitcodes.Preempted, exitcodes.Suspended:
	case "": // its workers were stopped, and one had said why it fails
		if o.Said == nil {
			return errors.New("outcome: neither a verdict nor what a stopped worker had said")
		}
	default:
		return fmt.Errorf("outcome: verdict %q", cut(string(o.Verdict)))
	}
	if s := o.Said; s != nil {
		switch {
		case s.Verdict != exitcodes.Retry && s.Verdict != exitcodes.Fatal:
			return fmt.Errorf("outcome: said: verdict %q", cut(string(s.Verdict)))
		case max(len(s.Reason), len(s.Rule)) > maxSaidRule || len(s.Evidence) > maxSaidEvidence:
			return fmt.Errorf("outcome: said: a reason or a rule is longer than %d bytes, or the evidence than %d",
				maxSaidRule, maxSaidEvidence)
		}
	}
	if len(o.Names) > maxNames {
		return fmt.Errorf("outcome: %d ranks are named, at most %d", len(o.Names), maxNames)
	}
	if len(o.Hosts) > maxNamedHosts || slices.ContainsFunc(o.Hosts, func(h string) bool { return len(h) > maxHost }) {
		return fmt.Errorf("outcome: more than %d hosts are named, or one of more than %d bytes", maxNamedHosts, maxHost)
	}
	if len(o.Message) > maxText || len(o.Evidence) > maxText || len(o.Reason) > maxText || len(o.Rule) > maxText {
		return fmt.Errorf("outcome: a text is longer than %d bytes", maxText)
	}
	return nil
}

func (c *Control) check() error {
	if !name(c.ID) {
		return fmt.Errorf("id %q: want 1 to %d printable bytes", cut(c.ID), maxName)
	}
	switch c.Verb {
	case VerbSuspend, VerbResume, VerbRestart, VerbStop:
		return nil
	case VerbUnban:
		if !name(c.Host) {
			return fmt.Errorf("unban of host %q: want 1 to %d printable bytes", cut(c.Host), maxName)
		}
		return nil
	}
	return fmt.Errorf("verb %q is not one of suspend, resume, restart, stop, unban", cut(c.Verb))
}

// name reports whether s can be a name: not empty, not absurdly long, nothing that would garble a log.
func name(s string) bool {
	if s == "" || len(s) > maxName || !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// Sentence makes a text for a person fit into a record.
func Sentence(s string) string { return cut(s) }

func cut(s string) string { return cutTo(s, maxText) }

func cutTo(s string, most int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
