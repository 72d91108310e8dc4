package rendezvous

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// MemberList is who takes part in a round, under the key "members/<name>", where the name is made of what is in it. A
// large job's rounds name their list instead of holding it: most rounds have the members of the one before, and what
// each of a thousand nodes is sent about a thousand others grows with the square of their number.
type MemberList struct {
	V       int      `json:"v"`
	Members []Member `json:"members"`
}

// listedFrom is the number of members from which on a round names a list.
var listedFrom = 17

// Split is the round as it is stored, and its list; nil where it holds its members itself. The error is that of Encode.
func (r *Round) Split() (header *Round, list *MemberList, err error) {
	if len(r.Members) < listedFrom {
		header := *r
		header.MemberList = ""
		return &header, nil, nil
	}
	list = &MemberList{V: version, Members: r.Members}
	name, err := list.name()
	if err != nil {
		return nil, nil, err
	}
	stored := *r
	stored.Members, stored.MemberList = nil, name
	return &stored, list, nil
}

func (l *MemberList) name() (string, error) {
	b, err := Encode(l)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8]), nil
}

// Whole reports whether the round's members are known.
func (r *Round) Whole() bool { return len(r.Members) > 0 }

// With is the round with the members of its list.
func (r *Round) With(list *MemberList) *Round {
	whole := *r
	whole.Members = list.Members
	return &whole
}

// ParseMemberList reads the value of a key "members/<name>". Its errors name the key and what is wrong with it.
func ParseMemberList(key string, b []byte) (*MemberList, error) {
	return parse(key, b, maxRoundBytes, (*MemberList).check)
}

func (l *MemberList) check() error {
	if len(l.Members) < 1 {
		return fmt.Errorf("no members")
	}
	return checkMembers(l.Members)
}
