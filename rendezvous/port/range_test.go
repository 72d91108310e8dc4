package port

import (
	"strings"
	"testing"
)

// TestRange takes every port of a range once before any of them again, and says when none is left.
func TestRange(t *testing.T) {
	first, err := Reserve(0)
	if err != nil {
		t.Fatal(err)
	}
	low := first.Number
	first.Release()
	r := Range{Low: low, High: low + 3}
	seen := map[int]bool{}
	var held []*Port
	for {
		p, err := r.Reserve(0)
		if err != nil {
			if !strings.Contains(err.Error(), "none of the ports") {
				t.Error(err)
			}
			break
		}
		if p.Number < r.Low || p.Number > r.High || seen[p.Number] {
			t.Fatalf("port %d of %d to %d, after %v", p.Number, r.Low, r.High, seen)
		}
		seen[p.Number] = true
		held = append(held, p)
	}
	if len(held) == 0 {
		t.Fatal("no port of the range could be had")
	}
	for _, p := range held {
		p.Release()
	}
	last := held[len(held)-1].Number
	p, err := r.Reserve(0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if len(held) > 1 && p.Number == last {
		t.Errorf("port %d twice in a row", last)
	}
	if q, err := r.Reserve(p.Number); err == nil {
		q.Release()
		t.Errorf("port %d was given twice", p.Number)
	}
}
