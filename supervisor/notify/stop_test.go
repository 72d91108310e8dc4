package notify

import (
	"fmt"
	"testing"
	"time"
)

// TestStopping: all that report here have to look, the furthest counts, and who is about to end has told no step since.
func TestStopping(t *testing.T) {
	s := listen(t)
	c := dial(t, s.Path)
	var mostAt time.Time // of step 6
	for _, m := range []struct {
		datagram string
		want     string
	}{
		{"", "looks false, blind [], most -1, leaving false"},
		{"X_GANGRUN_STOP_FILE=1\nX_GANGRUN_RANK=0\nX_GANGRUN_STEP=4", "looks true, blind [], most 4, leaving false"},
		{"X_GANGRUN_RANK=1\nX_GANGRUN_STEP=6", "looks false, blind [1], most 6, leaving false"},
		{"X_GANGRUN_STOP_FILE=1\nX_GANGRUN_RANK=1", "looks true, blind [], most 6, leaving false"},
		{"STOPPING=1\nX_GANGRUN_RANK=1", "looks true, blind [], most 6, leaving false"},
		{"STOPPING=1\nX_GANGRUN_RANK=0", "looks true, blind [], most 6, leaving true"},
		{"X_GANGRUN_RANK=0\nX_GANGRUN_STEP=5", "looks true, blind [], most 6, leaving false"},
	} {
		if m.datagram != "" {
			fmt.Fprint(c, m.datagram)
		}
		s.CatchUp()
		said, most := s.Said(), int64(-1)
		if said.Most != nil {
			most = *said.Most
		}
		if most == 6 && mostAt.IsZero() {
			mostAt = said.MostAt
		}
		if most == 6 && (said.MostAt != mostAt || mostAt.IsZero()) {
			t.Errorf("after %q: step 6 was told at %v, and now at %v", m.datagram, mostAt, said.MostAt)
		}
		got := fmt.Sprintf("looks %v, blind %v, most %d, leaving %v", said.Looks, said.Blind, most, said.Leaving)
		if got != m.want {
			t.Errorf("after %q: %s, want %s", m.datagram, got, m.want)
		}
	}
}
