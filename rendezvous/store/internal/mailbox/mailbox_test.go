package mailbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

func sum(a, b int) (int, bool) { return a + b, true }

func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		m := New(sum)
		m.Put(1) // nobody takes it yet
		m.Put(2)
		go m.Run(ctx)
		m.Put(3)
		var got []int
		for range 3 {
			got = append(got, <-m.Out())
		}
		m.Put(4)
		got = append(got, <-m.Out())
		if !slices.Equal(got, []int{1, 2, 3, 4}) {
			t.Errorf("%v", got)
		}
		stop()
		if _, ok := <-m.Out(); ok {
			t.Error("an item after the end")
		}
	})
}

func TestReplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		m := New(sum)
		go m.Run(ctx)
		for i := range 3 {
			m.Put(1 + i)
		}
		synctest.Wait() // the first one is on its way out
		m.Replace(4)
		if a, b := <-m.Out(), <-m.Out(); a != 1 || b != 4 {
			t.Errorf("%d and %d, want 1 and 4", a, b)
		}
	})
}

// TestBound: of a reader that stands still, no more waits than has room. What can be made one is, and nothing is lost.
func TestBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		m := New(func(a, b int) (int, bool) { return a + b, b != 1_000_000 })
		for range 10 * most {
			m.Put(1)
		}
		m.Put(1_000_000)
		if len(m.items) != most+1 {
			t.Errorf("%d items wait", len(m.items))
		}
		go m.Run(ctx)
		got := 0
		for got < 1_000_000 {
			got += <-m.Out()
		}
		if got != 1_000_000+10*most {
			t.Errorf("%d", got)
		}
	})
}
