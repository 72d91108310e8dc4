package metrics

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// run is a run told in events, and its metrics. Times are seconds since noon.
type run struct {
	tally    account.Tally
	seq      int64
	now      float64
	registry *prometheus.Registry
}

func newRun() *run {
	r := &run{}
	r.registry = Registry(Config{
		Version: "v1", Go: "go1", Reasons: []string{"NCCLTimeout", ""},
		Look:    func(look func(*account.Tally)) { look(&r.tally) },
		Dropped: map[string]func() int64{"file": func() int64 { return 3 }},
		Now:     func() time.Time { return noon.Add(time.Duration(r.now * float64(time.Second))) },
	})
	return r
}

func (r *run) add(second float64, e event.Event) {
	r.seq++
	e.V, e.ID, e.Seq, e.Source = 1, fmt.Sprint(r.seq), r.seq, "s"
	e.At = noon.Add(time.Duration(second * float64(time.Second)))
	r.tally.Add(e)
	r.now = second
}

// fail takes the run through a round that ends with a failure of that reason, and into the next one.
func (r *run) fail(second float64, round int, reason string) {
	one, ten, next := int64(1), int64(10), round+1
	r.add(second, event.Event{Type: event.RoundRunning, Round: &round, Running: &event.Running{Workers: 8}})
	r.add(second+1, event.Event{Type: event.Progress, Round: &round, Step: &one})
	r.add(second+10, event.Event{Type: event.Progress, Round: &round, Step: &ten})
	r.add(second+11, event.Event{Type: event.RoundStopping, Round: &round, Stopping: &event.Stopping{By: event.ByWorker}})
	r.add(second+12, event.Event{Type: event.RoundEnded, Round: &round, RoundEnd: &event.RoundEnd{
		Verdict: exitcodes.Retry, Workers: event.Ends{Failed: 1, Stopped: 7},
	}})
	r.add(second+13, event.Event{Type: event.RoundBegan, Round: &next, Began: &event.Began{
		StartsOver: true, Restart: &event.Restart{Kind: event.Failure, Reason: reason},
		Restarts: event.Restarts{Used: 1, Max: 3}, Banned: []string{"gpu-7", "gpu-9"},
	}})
}

// gather is every series with its value; of a histogram its count and sum.
func (r *run) gather(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, label := range m.GetLabel() {
				name += "/" + label.GetValue()
			}
			switch {
			case m.GetCounter() != nil:
				all[name] = m.GetCounter().GetValue()
			case m.GetGauge() != nil:
				all[name] = m.GetGauge().GetValue()
			default:
				all[name+"_count"], all[name+"_sum"] = float64(m.GetHistogram().GetSampleCount()), m.GetHistogram().GetSampleSum()
			}
		}
	}
	return all
}

// TestSeries: they are all there before anything has happened, and there are none more after much has.
func TestSeries(t *testing.T) {
	r := newRun()
	before := r.gather(t)
	zero := 0
	r.add(0, event.Event{Type: event.RunStarted, Started: &event.Started{MaxRestarts: 3}})
	r.add(0, event.Event{Type: event.RoundBegan, Round: &zero, Began: &event.Began{}})
	for i := range 200 {
		r.fail(float64(100*i), i, []string{"OOMKilled", "NCCLTimeout", fmt.Sprint("Strange", i)}[i%3])
	}
	after := r.gather(t)
	if b, a := slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)); !slices.Equal(a, b) {
		t.Errorf("series before: %v\nafter: %v", b, a)
	}
	for name, want := range map[string]float64{
		"gangrun_restarts_total/OOMKilled": 67, "gangrun_restarts_total/NCCLTimeout": 67, "gangrun_restarts_total/Other": 66,
		"gangrun_disruptions_total/OOMKilled": 67, "gangrun_worker_exits_total/failed": 200,
		"gangrun_worker_exits_total/stopped": 1400,
		"gangrun_round":                      200, "gangrun_step": 0, "gangrun_step_max": 10, "gangrun_restart_budget_used": 1, "gangrun_banned_hosts": 2,
		"gangrun_step_seconds_count": 1800, "gangrun_step_seconds_sum": 1800, "gangrun_training_seconds_total": 1800,
		"gangrun_recovery_seconds/startup_count": 199, "gangrun_phase/starting": 1, "gangrun_phase/running": 0,
		"gangrun_productive_seconds": 0, "gangrun_badput_seconds_total/lost_progress": 2000, "gangrun_goodput_ratio": 0,
		"gangrun_events_dropped_total/file": 3,
	} {
		if got := after[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"step", "step_max", "goodput_ratio", "checkpoint_step", "checkpoint_age_seconds",
		"step_timestamp_seconds"} {
		if v := before["gangrun_"+name]; !math.IsNaN(v) {
			t.Errorf("%s is %v although nothing is known", name, v)
		}
	}
}

// TestNeverBack: an event that tells of a moment before the last scrape takes nothing back that a scrape has counted.
func TestNeverBack(t *testing.T) {
	r := newRun()
	zero := 0
	r.add(0, event.Event{Type: event.RunStarted})
	r.add(0, event.Event{Type: event.RoundBegan, Round: &zero, Began: &event.Began{}})
	r.now = 5
	before := r.gather(t)
	r.add(4, event.Event{Type: event.RoundStopping, Round: &zero, Stopping: &event.Stopping{By: event.ByWorker}})
	after := r.gather(t)
	for name, v := range before {
		if strings.Contains(name, "_total") && after[name] < v {
			t.Errorf("%s went back from %v to %v", name, v, after[name])
		}
	}
}

func names() (list []string) {
	all := make(chan *prometheus.Desc, 100)
	(&collector{}).Describe(all)
	close(all)
	for d := range all {
		list = append(list, regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1])
	}
	return list
}

// TestNames: the page has a row for each metric, and neither it nor an example names one that does not exist.
func TestNames(t *testing.T) {
	const page = "../../docs/metrics.md"
	known := names()
	word := regexp.MustCompile(`\bgangrun_[a-z_]+`)
	for _, file := range []string{page, "../../examples/observability/dashboard.json",
		"../../examples/observability/alerts.yaml"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := word.FindAllString(string(data), -1)
		if len(found) < 10 {
			t.Errorf("%s names only %v", file, found)
		}
		for _, name := range found {
			base := name
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				base = strings.TrimSuffix(base, suffix)
			}
			if !slices.Contains(known, name) && !slices.Contains(known, base) {
				t.Errorf("%s names %s, which there is not", file, name)
			}
		}
		for _, name := range known {
			if file == page && !strings.Contains(string(data), "| `"+name) {
				t.Errorf("%s has no row for %s", page, name)
			}
		}
	}
}

// TestDashboard is JSON with an expression in every panel.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("../../examples/observability/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil || len(dashboard.Panels) < 10 {
		t.Fatalf("%d panels, %v", len(dashboard.Panels), err)
	}
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 || p.Title == "" || p.Targets[0].Expr == "" {
			t.Errorf("%+v", p)
		}
	}
}

// TestStragglers: the worst that is named now is shown, until it is none, or its round is over.
func TestStragglers(t *testing.T) {
	r := newRun()
	zero := 0
	about := func(rank int, seconds float64) *event.Straggler {
		return &event.Straggler{Rank: rank, ExcessSeconds: seconds}
	}
	wants := func(count, rank, excess float64) {
		t.Helper()
		now := r.gather(t)
		if now["gangrun_stragglers"] != count || now["gangrun_straggler_rank"] != rank || now["gangrun_straggler_excess_seconds"] != excess {
			t.Errorf("%v, %v, %v", now["gangrun_stragglers"], now["gangrun_straggler_rank"], now["gangrun_straggler_excess_seconds"])
		}
	}
	wants(0, -1, 0)
	r.add(0, event.Event{Type: event.RunStarted})
	r.add(0, event.Event{Type: event.RoundBegan, Round: &zero, Began: &event.Began{}})
	r.add(1, event.Event{Type: event.StragglerFound, Straggler: about(5, 0.01)})
	r.add(2, event.Event{Type: event.StragglerFound, Straggler: about(3, 0.02)})
	wants(2, 3, 0.02)
	r.add(3, event.Event{Type: event.StragglerOver, Straggler: about(3, 0)})
	wants(1, 5, 0.01)
	const excess = "gangrun_straggler_node_excess_seconds/b"
	slow := func(nodes, seconds float64) {
		t.Helper()
		now := r.gather(t)
		if got, there := now[excess]; now["gangrun_straggler_nodes"] != nodes || got != seconds || there != (nodes > 0) {
			t.Errorf("%v nodes, %v", now["gangrun_straggler_nodes"], got)
		}
	}
	r.add(3, event.Event{Type: event.StragglerFound, Straggler: &event.Straggler{Node: "b", Rank: 5, ExcessSeconds: 0.03}})
	slow(1, 0.03)
	wants(1, 5, 0.01)
	r.add(3, event.Event{Type: event.StragglerOver, Straggler: &event.Straggler{Node: "b", Rank: 6}})
	slow(0, 0)
	for rank := range 1000 {
		r.add(3, event.Event{Type: event.StragglerFound, Straggler: about(rank, 0)})
	}
	if n := r.gather(t)["gangrun_stragglers"]; n > 64 {
		t.Error(n)
	}
	r.add(4, event.Event{Type: event.RoundStopping, Round: &zero, Stopping: &event.Stopping{By: event.ByWorker}})
	wants(0, -1, 0)
}
