package harness

import "testing"

// Turns returns what lets a test run beside others when it is its turn, of which there are that many at once. It is for
// tests that load frameworks: parallel ones are as many as there are processors, whatever memory each of them takes.
func Turns(atOnce int) func(*testing.T) {
	turns := make(chan struct{}, atOnce)
	return func(t *testing.T) {
		t.Helper()
		t.Parallel()
		turns <- struct{}{}
		t.Cleanup(func() { <-turns })
	}
}
