package supervisor

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestCalled is how long the workers have after each call for the end, and which code and words that gives.
func TestCalled(t *testing.T) {
	const s = time.Second
	notice := Notice{unix.SIGUSR1, 115 * s}
	stopped := &outside{until: noon.Add(9 * s)}
	for _, tt := range []struct {
		name          string
		cfg           Config
		before        *outside
		sig           unix.Signal
		until, saveBy time.Duration // after noon
		what          string
		signal        unix.Signal
	}{
		{"a stop", Config{Grace: 25 * s}, nil, unix.SIGTERM, 25 * s, 25 * s, "SIGTERM from outside", unix.SIGTERM},
		{"a stop, and the pod's grace is known", Config{Grace: 25 * s, SaveGrace: 55 * s}, nil, unix.SIGTERM, 25 * s, 55 * s,
			"SIGTERM from outside", unix.SIGTERM},
		{"a stop with more than the pod's", Config{Grace: 58 * s, SaveGrace: 55 * s}, nil, unix.SIGTERM, 58 * s, 58 * s,
			"SIGTERM from outside", unix.SIGTERM},
		{"a notice", Config{Grace: 25 * s, Notice: notice}, nil, unix.SIGUSR1, 115 * s, 115 * s,
			"the notice SIGUSR1 from outside", unix.SIGTERM},
		{"a notice that is shorter than the pod's grace", Config{Grace: 25 * s, SaveGrace: 300 * s, Notice: notice}, nil,
			unix.SIGUSR1, 115 * s, 300 * s, "the notice SIGUSR1 from outside", unix.SIGTERM},
		{"another signal than the notice", Config{Grace: 25 * s, Notice: notice}, nil, unix.SIGUSR2, 25 * s, 25 * s,
			"SIGUSR2 from outside", unix.SIGUSR2},
		{"near the time limit", Config{Grace: 25 * s, SaveGrace: 55 * s, TimeLimit: 70 * s}, nil, unix.SIGTERM, 10 * s, 10 * s,
			"SIGTERM from outside", unix.SIGTERM},
		{"a first SIGINT", Config{Grace: 25 * s}, nil, unix.SIGINT, 25 * s, 25 * s, "SIGINT from outside", unix.SIGINT},
		{"a second SIGINT", Config{Grace: 25 * s, SaveGrace: 55 * s}, stopped, unix.SIGINT, 0, 0, "SIGINT from outside", unix.SIGINT},
		{"a second SIGTERM", Config{Grace: 25 * s}, stopped, unix.SIGTERM, 25 * s, 25 * s, "SIGTERM from outside", unix.SIGTERM},
	} {
		v := &Supervisor{cfg: tt.cfg, startedAt: noon.Add(-time.Minute), outside: tt.before}
		got := v.called(tt.sig, noon)
		if until, saveBy := got.until.Sub(noon), got.saveBy.Sub(noon); until != tt.until || saveBy != tt.saveBy {
			t.Errorf("%s: the workers have %v, and %v to save; want %v and %v", tt.name, until, saveBy, tt.until, tt.saveBy)
		}
		if got.what != tt.what || got.signal != tt.signal {
			t.Errorf("%s: %q and signal %d, want %q and %d", tt.name, got.what, got.signal, tt.what, tt.signal)
		}
	}
}

// TestLaterCall can only shorten the wait.
func TestLaterCall(t *testing.T) {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for _, tt := range []struct{ first, later, want outside }{
		{outside{until: at(55), saveBy: at(55), waits: true}, outside{until: at(50), saveBy: at(80)},
			outside{until: at(55), saveBy: at(55), waits: true}},
		{outside{until: at(115), saveBy: at(115)}, outside{until: at(25), saveBy: at(55)}, outside{until: at(25), saveBy: at(55)}},
		{outside{until: at(25), saveBy: at(55)}, outside{until: at(115), saveBy: at(115)}, outside{until: at(25), saveBy: at(55)}},
		{outside{until: at(55), saveBy: at(55)}, outside{until: at(30), saveBy: at(60)}, outside{until: at(30), saveBy: at(55)}},
	} {
		got := tt.first
		if got.shorten(&tt.later); got != tt.want {
			t.Errorf("%+v after %+v: %+v, want %+v", tt.later, tt.first, got, tt.want)
		}
	}
}

// TestPassedOn is what a worker gets: of a notice it knows nothing, unless somebody says so.
func TestPassedOn(t *testing.T) {
	for _, tt := range []struct {
		sig, want unix.Signal
		mapped    map[unix.Signal]unix.Signal
	}{
		{unix.SIGUSR1, unix.SIGTERM, nil},
		{unix.SIGUSR1, unix.SIGUSR2, map[unix.Signal]unix.Signal{unix.SIGUSR1: unix.SIGUSR2}},
		{unix.SIGUSR1, unix.SIGTERM, map[unix.Signal]unix.Signal{unix.SIGTERM: unix.SIGUSR2}},
		{unix.SIGUSR2, unix.SIGUSR2, nil},
		{unix.SIGTERM, 0, map[unix.Signal]unix.Signal{unix.SIGTERM: 0}},
	} {
		v := &Supervisor{cfg: Config{Notice: Notice{Signal: unix.SIGUSR1}, SignalMap: tt.mapped}}
		if got := v.passedOn(tt.sig); got != tt.want {
			t.Errorf("signal %d with the map %v: %d, want %d", tt.sig, tt.mapped, got, tt.want)
		}
	}
}

// TestLimitAt is when the time limit gives notice: --grace before it, unless the end was called for before.
func TestLimitAt(t *testing.T) {
	v := &Supervisor{cfg: Config{Grace: 25 * time.Second}, startedAt: noon}
	if at := v.limitAt(); !at.IsZero() {
		t.Errorf("without a limit: %v", at)
	}
	v.cfg.TimeLimit = time.Hour
	if at := v.limitAt(); at != noon.Add(time.Hour-25*time.Second) {
		t.Errorf("with a limit of an hour: %v", at)
	}
	v.outside = &outside{}
	if at := v.limitAt(); !at.IsZero() {
		t.Errorf("when it stops already: %v", at)
	}
}
