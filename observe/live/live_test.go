package live

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/observe/record"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func of[T any](v T) *T { return &v }

// TestLine says what is known, and nothing that is not.
func TestLine(t *testing.T) {
	running := account.Summary{
		Phase: account.Running,
		Round: of(2),
		At:    noon,
		Since: noon.Add(-time.Hour),
		Step:  of(int64(1195)),
	}
	saved := running
	saved.Checkpoint = &event.Checkpoint{Step: 1100, Modified: noon.Add(-2*time.Minute - 30*time.Second)}
	saved.Restarted, saved.Restarts = 2, event.Restarts{Used: 1, Max: 3}
	forming := account.Summary{Phase: account.Forming, At: noon, Since: noon.Add(-90500 * time.Millisecond)}
	again := forming
	again.Round, again.Step, again.Restarts = of(0), of(int64(40)), event.Restarts{Used: 1, Max: 3}
	leaving := running
	leaving.Leaving, leaving.Phase = "SIGTERM from outside\x1b", account.Stopping
	for _, tt := range []struct {
		place record.Place
		s     account.Summary
		pace  float64
		want  string
	}{
		{record.Place{Rank: -1}, account.Summary{Phase: account.Forming, At: noon, Since: noon}, 0, "forming for 0s"},
		{record.Place{Rank: -1}, forming, 0, "forming for 1m30s"},
		{record.Place{Rank: -1}, running, 0, "running, round 2"},
		{record.Place{Rank: -1, Step: of(int64(1200))}, running, 3.14159, "running, round 2, step 1200, 3.1 steps/s"},
		{record.Place{Rank: -1, Step: of(int64(1200)), Behind: 1}, running, 0.0123,
			"running, round 2, step 1200, 0.012 steps/s"},
		{record.Place{Rank: 3, Step: of(int64(1200)), Behind: 4}, saved, 123.4,
			"running, round 2, step 1200, 123 steps/s, rank 3 is 4 steps behind, checkpoint of step 1100, 2m ago, 1 of 3 restarts used"},
		{record.Place{Rank: -1, Step: of(int64(1200)), Behind: 4, Saving: true}, running, 0,
			"saving a checkpoint, round 2, step 1200, a worker is 4 steps behind"},
		{record.Place{Rank: -1}, again, 0, "forming for 1m30s, round 0, step 40, 1 of 3 restarts used"},
		{record.Place{Rank: -1}, leaving, 0, "stopping for 1h0m0s, round 2, step 1195"},
	} {
		if got := Line(tt.place, tt.s, tt.pace); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestPace is that of the last while, of one round, and 0 where there is none.
func TestPace(t *testing.T) {
	var p Pace
	for i, tt := range []struct {
		second float64
		round  *int
		step   *int64
		want   float64
	}{
		{0, nil, nil, 0}, {1, of(0), nil, 0}, {2, of(0), of(int64(10)), 0}, {3, of(0), of(int64(12)), 2}, {4, of(0),
			of(int64(16)), 3},
		{17, of(0), of(int64(16)), 0.4}, {18, of(0), of(int64(16)), 4.0 / 15}, {19, of(0), of(int64(16)), 0}, // who makes none has none after a while
		{20, of(1), of(int64(5)), 0}, {22, of(1), of(int64(9)), 2}, // another round
		{23, of(1), of(int64(1)), 0}, {24, of(1), of(int64(2)), 1}, // it counts from the start again
		{25, of(1), nil, 0},
	} {
		got := p.Add(noon.Add(time.Duration(tt.second*float64(time.Second))), tt.round, tt.step)
		if diff := got - tt.want; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%d: %v, want %v", i, got, tt.want)
		}
	}
	for i := range 100_000 {
		p.Add(noon.Add(time.Duration(i)*time.Second), of(1), of(int64(i)))
	}
	if len(p.samples) > 20 {
		t.Errorf("%d samples", len(p.samples))
	}
}

// TestAge has one unit.
func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m", 3 * time.Hour: "3h", 49 * time.Hour: "2d",
	} {
		if got := age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
