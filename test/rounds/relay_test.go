package rounds_test

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness/relay"
)

// slowly is a way to a server on which everything takes that long, in each direction: a link over an ocean.
func slowly(t *testing.T, target string, each time.Duration) (endpoint string) {
	t.Helper()
	r, err := relay.New("127.0.0.1", target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	r.Delay(each)
	return r.URL
}
