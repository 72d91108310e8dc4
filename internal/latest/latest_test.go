package latest

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wrote []int
		var failures []string
		w := NewWriter(func(n int) error {
			time.Sleep(time.Second)
			wrote = append(wrote, n)
			if n%2 == 0 {
				return errors.New("even")
			}
			return nil
		}, func(err error) { failures = append(failures, err.Error()) })
		w.Put(1)
		synctest.Wait() // 1 is being written
		w.Put(3)
		w.Put(2)   // 3 is outdated
		w.Offer(5) // and 2 is not
		began := time.Now()
		if !w.Close(time.Minute) || time.Since(began) != 2*time.Second {
			t.Errorf("not closed after %v", time.Since(began))
		}
		if !slices.Equal(wrote, []int{1, 2}) || !slices.Equal(failures, []string{"even"}) {
			t.Errorf("wrote %v, failures %v", wrote, failures)
		}
	})
}

// TestFirstFailure is the only one that is told.
func TestFirstFailure(t *testing.T) {
	failures := 0
	w := NewWriter(func(int) error { return errors.New("full") }, func(error) { failures++ })
	for n := range 100 {
		w.Put(n)
	}
	if !w.Close(time.Minute) || failures != 1 {
		t.Errorf("%d failures were told", failures)
	}
}

// TestStuck is a file server that never answers.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		w := NewWriter(func(int) error { <-answer; return nil }, func(error) {})
		for n := range 10 {
			w.Put(n)
		}
		if w.Close(2 * time.Second) {
			t.Error("closed, and nothing was written")
		}
		close(answer)
	})
}
