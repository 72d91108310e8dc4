package etcd

import (
	"log/slog"
	"strings"
	"testing"
)

// TestMeet: what tells that a record is another one.
func TestMeet(t *testing.T) {
	for _, tt := range []struct {
		name         string
		known, token string
		seen, rev    int64
		same         bool
	}{
		{"the same", "a", "a", 7, 9, true},
		{"the first token", "", "a", 7, 9, true},
		{"still none", "", "", 7, 7, true},
		{"another one", "a", "b", 7, 9, false},
		{"gone", "a", "", 7, 9, false},
		{"an old copy of it", "a", "a", 7, 6, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore("/p/", 0, slog.New(slog.DiscardHandler))
			s.token, s.rev = tt.known, tt.seen
			_, replaced := s.identity()
			if same := s.meet(tt.token, tt.rev, position{token: tt.known, rev: tt.seen}); same != tt.same {
				t.Errorf("same: %v", same)
			}
			told := false
			select {
			case <-replaced:
				told = true
			default:
			}
			if told == tt.same {
				t.Errorf("the watches were told: %v", told)
			}
			if token, _ := s.identity(); token != tt.token {
				t.Errorf("token %q", token)
			}
			if rev, _ := s.newest(); rev != tt.rev {
				t.Errorf("revision %d, want %d", rev, tt.rev)
			}
			s.saw("other", 100)
			if rev, _ := s.newest(); rev != tt.rev {
				t.Error("a revision of another record was taken")
			}
		})
	}
}

// TestMetAlready: two readers come to know of a new store, whose revisions start over. The second one has asked while the
// old one was known: it says nothing new, and the watches do not start over once more.
func TestMetAlready(t *testing.T) {
	var log strings.Builder
	s := newStore("/p/", 0, slog.New(slog.NewTextHandler(&log, nil)))
	s.token, s.rev = "a", 7
	asked := position{token: "a", rev: 7}
	if s.meet("b", 3, asked) {
		t.Fatal("another store is taken for the same")
	}
	_, replaced := s.identity()
	s.meet("b", 4, asked)
	select {
	case <-replaced:
		t.Error("the watches were told twice")
	default:
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings: %s", n, log.String())
	}
}
