package rendezvous

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

// TestARoundOfManyNamesItsMembers: what each node is sent in a plain restart does not grow with the number of nodes.
func TestARoundOfManyNamesItsMembers(t *testing.T) {
	round := func(n, number int) *Round {
		r := fullRound()
		r.Members, r.Number, r.MemberList = nil, number, ""
		for i := range n {
			r.Members = append(r.Members, Member{
				Name: fmt.Sprint("node", i), Incarnation: fmt.Sprint("i", i), Slots: 8, BootID: "boot", PIDNS: "4026531836",
			})
		}
		return r
	}
	size := func(r *Round) (int, *Round, *MemberList) {
		header, list, err := r.Split()
		if err != nil {
			t.Fatal(err)
		}
		b, err := Encode(header)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseRound("rounds/1", b)
		if err != nil {
			t.Fatal(err)
		}
		return len(b), back, list
	}
	many, header, list := size(round(1024, 3))
	if many > 512 || header.Whole() || list == nil {
		t.Fatalf("%d bytes for 1024 nodes", many)
	}
	if more, again, _ := size(round(1024, 4)); more != many || again.MemberList != header.MemberList {
		t.Errorf("the same members have another list: %s, %s", again.MemberList, header.MemberList)
	}
	if _, other, _ := size(round(1023, 4)); other.MemberList == header.MemberList {
		t.Error("other members have the same list")
	}
	b, err := Encode(list)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseMemberList("members/x", b)
	if err != nil {
		t.Fatal(err)
	}
	if whole := header.With(read); !reflect.DeepEqual(whole.Members, round(1024, 3).Members) || whole.At != header.At {
		t.Errorf("put together: %+v", whole)
	}
	if _, few, list := size(round(16, 3)); list != nil || !few.Whole() {
		t.Error("a small round has its members in a list")
	}
	for name, bad := range map[string]string{
		"none": `{"v":1,"members":[]}`, "twice": `{"v":1,"members":[{"name":"a","incarnation":"b","slots":1},{"name":"a","incarnation":"c","slots":1}]}`,
		"version": `{"v":2,"members":[{"name":"a","incarnation":"b","slots":1}]}`, "no JSON": `{`,
	} {
		if _, err := ParseMemberList("members/x", []byte(bad)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// BenchmarkParseRound is what a node does with the record of a round of 1,024.
func BenchmarkParseRound(b *testing.B) {
	r := fullRound()
	r.Members, r.At = make([]Member, 1024), time.Time{}
	for i := range r.Members {
		r.Members[i] = Member{Name: fmt.Sprint("node", i), Incarnation: fmt.Sprint("i", i), Slots: 8}
	}
	header, _, err := r.Split()
	if err != nil {
		b.Fatal(err)
	}
	value, err := Encode(header)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := ParseRound("rounds/1", value); err != nil {
			b.Fatal(err)
		}
	}
}
