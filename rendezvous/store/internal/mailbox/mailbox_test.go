package mailbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		m := New[int]()
		m.Put(1, 2) // nobody takes it yet
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
		m := New[int]()
		go m.Run(ctx)
		m.Put(1, 2, 3)
		synctest.Wait() // the first one is on its way out
		m.Replace(4)
		if a, b := <-m.Out(), <-m.Out(); a != 1 || b != 4 {
			t.Errorf("%d and %d, want 1 and 4", a, b)
		}
	})
}
