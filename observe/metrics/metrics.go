// Package metrics is the account in Prometheus' form. Every series is there from the start, and no label grows.
package metrics

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/rendezvous"
)

// Config is what the metrics are made of.
type Config struct {
	Version, Go string // of gangrun, and of what it was built with
	// Reasons are those that rules give, beside gangrun's own.
	Reasons []string
	// Look calls look with the account.
	Look func(look func(*account.Tally))
	// Dropped tells for each receiver of events how many have not reached it.
	Dropped map[string]func() int64
	Now     func() time.Time
}

// reasons are those of gangrun itself. What is not among these, and of no rule, counts as Other.
func reasons(more []string) []string {
	list := []string{
		exitcodes.ReasonError, exitcodes.ReasonOOMKilled, exitcodes.ReasonSharedMemoryFull,
		exitcodes.ReasonCheckpointUnusable,
		exitcodes.ReasonNotExecutable, exitcodes.ReasonNotFound, exitcodes.ReasonPreempted, exitcodes.ReasonSuspended,
		exitcodes.ReasonRendezvousTimeout, exitcodes.ReasonHang, exitcodes.ReasonStoreLost, exitcodes.ReasonNodeUnhealthy,
		exitcodes.ReasonPeerLost, exitcodes.ReasonPeerUnreachable, exitcodes.ReasonBadConfig, exitcodes.ReasonSpecMismatch,
		rendezvous.ReasonNodeLost, account.ReasonAsked, account.ReasonOther,
	}
	for _, signal := range []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15} {
		list = append(list, exitcodes.SignalReason(signal))
	}
	for _, reason := range more {
		if reason != "" {
			list = append(list, reason)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Registry gathers the metrics.
func Registry(cfg Config) *prometheus.Registry {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(&collector{Config: cfg, reasons: reasons(cfg.Reasons), shown: map[string]float64{}})
	return r
}

type collector struct {
	Config
	reasons []string

	mu    sync.Mutex
	shown map[string]float64 // each counter as it was last told
}

// grown is v, or what was told before where that is more: an event may tell of a moment just before the last scrape,
// and a counter that goes back by a millisecond would be taken for one that was reset.
func (c *collector) grown(name string, v float64) float64 {
	c.shown[name] = max(v, c.shown[name])
	return c.shown[name]
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("gangrun_"+name, help, labels, nil)
}

var (
	build   = describe("build_info", "The version of this gangrun. Always 1.", "version", "goversion")
	phase   = describe("phase", "1 for the phase that this node is in, 0 for the others.", "phase")
	round   = describe("round", "The current round, or the last; -1 before the first.")
	workers = describe("workers", "Running workers of this node.")
	exits   = describe("worker_exits_total",
		"Workers that have ended, by how: succeeded, failed by themselves, stopped.", "how")
	step = describe("step",
		"The last step that all reporting workers of this node have finished; NaN when none was reported.")
	stepMax    = describe("step_max", "The highest step ever reported; NaN when none was.")
	stepAt     = describe("step_timestamp_seconds", "When the last new step was reported; NaN when none was.")
	saved      = describe("checkpoint_step", "The step of the newest known checkpoint; NaN when there is none.")
	stragglers = describe("stragglers", "Ranks of this node that the others wait for, step after step.")
	straggler  = describe("straggler_rank", "The slowest of them; -1 when there is none.")
	excess     = describe("straggler_excess_seconds",
		"How much longer each of its steps takes than those of the others; 0 when there is none.")
	slowNodes  = describe("straggler_nodes", "Nodes of the job that the others wait for; only the leading node knows any.")
	nodeExcess = describe("straggler_node_excess_seconds",
		"How much longer each step of such a node takes than on the other nodes; absent where there is none.", "straggler")
	savedAge = describe("checkpoint_age_seconds",
		"The age of the newest known checkpoint; NaN when there is none.")
	budgetUsed = describe("restart_budget_used", "Restarts without progress that the job has used up.")
	budgetMax  = describe("restart_budget_max", "Restarts without progress after which the job gives up.")
	banned     = describe("banned_hosts", "Hosts that the job avoided, as far as it could, when the last round began.")
	restarts   = describe("restarts_total", "Restarted rounds on this node, by the job's reason.", "reason")
	disrupted  = describe("disruptions_total",
		"Interrupted rounds, by the job's reason: restarts, and an end other than success.", "reason")
	elapsed    = describe("job_elapsed_seconds_total", "Time since gangrun started on this node.")
	training   = describe("training_seconds_total", "Time spent on steps, including those that had to be repeated.")
	productive = describe("productive_seconds",
		"Time spent on steps that count, that is, not lost by a restart. It can go down.")
	goodput   = describe("goodput_ratio", "Productive time over elapsed time; NaN when no step was reported.")
	badput    = describe("badput_seconds_total", "Time that was not productive, by where it went.", "source")
	stepTimes = describe("step_seconds",
		"Time of a step: the mean of those in at most five seconds counts for each of them.")
	recovery = describe("recovery_seconds", "Time from a failure until training continues, by phase.", "phase")
	dropped  = describe("events_dropped_total", "Events that did not reach a receiver because it was too slow.",
		"receiver")
)

// Describe names the metrics.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		build, phase, round, workers, exits, step, stepMax, stepAt, stragglers, straggler, excess, slowNodes, nodeExcess,
		saved, savedAge,
		budgetUsed, budgetMax, banned, restarts,
		disrupted, elapsed, training, productive, goodput, badput, stepTimes, recovery, dropped,
	} {
		out <- d
	}
}

// Collect looks at the account once. Nobody else is asked.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	var s account.Summary
	var times account.Histogram
	var recoveries map[account.Source]account.Histogram
	now := c.Now()
	c.Look(func(t *account.Tally) { s, times, recoveries = t.At(now), t.StepTimes(), t.Recoveries() })

	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		v = c.grown(d.String()+strings.Join(labels, "/"), v)
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge(build, 1, c.Version, c.Go)
	for _, p := range account.Phases() {
		gauge(phase, oneIf(p == s.Phase), string(p))
	}
	if s.Round != nil {
		gauge(round, float64(*s.Round))
	} else {
		gauge(round, -1)
	}
	gauge(workers, float64(s.Workers))
	counter(exits, float64(s.Exits.Succeeded), "succeeded")
	counter(exits, float64(s.Exits.Failed), "failed")
	counter(exits, float64(s.Exits.Stopped), "stopped")
	gauge(step, number(s.Step))
	gauge(stepMax, number(s.StepMax))
	gauge(stepAt, seconds(s.StepAt))
	gauge(stragglers, float64(len(s.Stragglers)))
	worst := event.Straggler{Rank: -1}
	if len(s.Stragglers) > 0 {
		worst = s.Stragglers[0]
	}
	gauge(straggler, float64(worst.Rank))
	gauge(excess, worst.ExcessSeconds)
	gauge(slowNodes, float64(len(s.SlowNodes)))
	for _, n := range s.SlowNodes {
		gauge(nodeExcess, n.ExcessSeconds, n.Node)
	}
	if ckpt := s.Checkpoint; ckpt != nil {
		gauge(saved, float64(ckpt.Step))
		gauge(savedAge, max(now.Sub(ckpt.Modified).Seconds(), 0))
	} else {
		gauge(saved, math.NaN())
		gauge(savedAge, math.NaN())
	}
	gauge(budgetUsed, float64(s.Restarts.Used))
	gauge(budgetMax, float64(s.Restarts.Max))
	gauge(banned, float64(len(s.Banned)))
	disruptions := map[string]int{}
	for _, cause := range s.Causes {
		disruptions[cause.Reason] = cause.Count
	}
	c.byReason(counter, restarts, s.Reasons)
	c.byReason(counter, disrupted, disruptions)
	counter(elapsed, s.Elapsed)
	counter(training, s.Training)
	gauge(productive, s.Productive)
	ratio := math.NaN()
	if s.Goodput != nil {
		ratio = *s.Goodput
	}
	gauge(goodput, ratio)
	for _, source := range account.Sources() {
		if source != account.Idle { // which one node cannot know
			counter(badput, s.Badput[source], string(source))
		}
	}
	out <- histogram(stepTimes, times)
	for _, p := range account.RecoveryPhases() {
		out <- histogram(recovery, recoveries[p], string(p))
	}
	for receiver, count := range c.Dropped {
		counter(dropped, float64(count()), receiver)
	}
}

// byReason puts out a count for every reason that has a series, and what is left as Other.
func (c *collector) byReason(counter func(*prometheus.Desc, float64, ...string), d *prometheus.Desc,
	counts map[string]int) {
	shown := map[string]int{}
	for reason, n := range counts {
		if _, found := slices.BinarySearch(c.reasons, reason); !found {
			reason = account.ReasonOther
		}
		shown[reason] += n
	}
	for _, reason := range c.reasons {
		counter(d, float64(shown[reason]), reason)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// number is n, NaN when it is not known: a 0 would be a statement.
func number(n *int64) float64 {
	if n == nil {
		return math.NaN()
	}
	return float64(*n)
}

func seconds(at time.Time) float64 {
	if at.IsZero() {
		return math.NaN()
	}
	return float64(at.UnixMilli()) / 1000
}

func histogram(d *prometheus.Desc, h account.Histogram, labels ...string) prometheus.Metric {
	buckets := map[float64]uint64{}
	var sum uint64
	for i, bound := range h.Bounds {
		if h.Counts != nil {
			sum += h.Counts[i]
		}
		buckets[bound.Seconds()] = sum
	}
	return prometheus.MustNewConstHistogram(d, h.N, h.Sum.Seconds(), buckets, labels...)
}
