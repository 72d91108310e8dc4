package supervisor

import (
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/internal/shared"
	"github.com/gangrun/gangrun/supervisor/notify"
	"github.com/gangrun/gangrun/supervisor/straggler"
)

// TestOwnTime: what the ranks tell of their own part is put together for the other nodes, once a minute is over; ranks that
// tell only steps have none.
func TestOwnTime(t *testing.T) {
	for _, tells := range []time.Duration{120 * time.Millisecond, 0} {
		s := &Supervisor{stragglers: straggler.New(), own: straggler.NewOwn()}
		now := time.Now()
		for n := range int64(61) {
			for rank := range 3 {
				own := tells
				if rank == 2 {
					own += tells / 2
				}
				s.pace([]notify.Report{{Rank: rank, Step: &n, Own: own, At: now}})
			}
			if got := s.ownTime(now); n < 60 && got != nil {
				t.Fatalf("after %d seconds: %+v", n, got)
			}
			now = now.Add(time.Second)
		}
		got := s.ownTime(now)
		if tells == 0 {
			if got != nil {
				t.Errorf("%+v", got)
			}
			continue
		}
		if got == nil || got.Minute != 1 || got.Usec != 120_000 || got.Step != 1_000_000 || got.Steps < 60 || got.Rank != 2 || got.RankUsec != 180_000 {
			t.Errorf("%+v", got)
		}
	}
}

// TestOwnTimeFails: a fault in the comparison costs the names, and is said once; training continues.
func TestOwnTimeFails(t *testing.T) {
	var log shared.Buffer
	s := &Supervisor{stragglers: straggler.New(), own: straggler.NewOwn(), log: slog.New(slog.NewTextHandler(&log, nil))}
	now := time.Now()
	one, two := int64(1), int64(2)
	s.pace([]notify.Report{{Rank: 0, Step: &one, Own: time.Millisecond, At: now}})
	ranks := reflect.ValueOf(s.own).Elem().FieldByName("ranks")
	reflect.NewAt(ranks.Type(), ranks.Addr().UnsafePointer()).Elem().SetMapIndex(reflect.ValueOf(0), reflect.Zero(ranks.Type().Elem()))
	for range 2 {
		if got := s.ownTime(now.Add(time.Hour)); got != nil {
			t.Errorf("%+v", got)
		}
	}
	if named := s.pace([]notify.Report{{Rank: 0, Step: &two, Own: time.Millisecond, At: now}}); named != nil {
		t.Errorf("%+v", named)
	}
	if strings.Count(log.String(), "training continues") != 1 {
		t.Error(log.String())
	}
}
