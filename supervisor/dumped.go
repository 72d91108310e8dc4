package supervisor

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/evidence/flight"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/straggler"
)

// dumpsTime bounds the wait for files of torch's watchdog: their disk may be what hangs.
const dumpsTime = 2 * time.Second

// dumped reads what torch's watchdog has written about the workers since the last progress, if no rank has answered. Older
// files are from different moments.
func (a *answers) dumped(dir string, workers []*worker, of []int, since time.Time) {
	if len(a.torch) > 0 || since.IsZero() {
		return
	}
	records, err := task.Within(dumpsTime, func() (map[int]flight.Record, error) { return dumps(dir, workers, of, since) }, nil)
	a.torch = records
	if err != nil {
		a.unread = err
	}
}

// dumps reads the files of workers that know their rank.
func dumps(dir string, workers []*worker, of []int, since time.Time) (map[int]flight.Record, error) {
	records := map[int]flight.Record{}
	var unread error
	for _, i := range of {
		w := workers[i]
		if w.spec.Rank < 0 {
			continue
		}
		env := func(name string) string { return environ.Get(w.env, name) }
		path := flight.Dump(env, dir, w.spec.Rank)
		if path == "" {
			continue
		}
		r, err := flight.ReadDump(path, since)
		switch {
		case err == nil:
			records[w.spec.Rank] = r
		case !errors.Is(err, os.ErrNotExist) && unread == nil:
			unread = err
		}
	}
	return records, unread
}

// comesLate says which ranks were repeatedly later than the others at the job's collectives, by the records of the ranks of
// this machine, which share a clock; empty if none were.
func comesLate(records map[int]flight.Record) string {
	type arrival struct {
		rank int
		flight.Call
	}
	var all []arrival
	for rank, r := range records {
		g, _ := r.World()
		for _, c := range r.Calls {
			if c.Group == g.Name && !c.Pair {
				all = append(all, arrival{rank, c})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b arrival) int { return a.Created.Compare(b.Created) })
	named, watch := map[int]straggler.Named{}, straggler.New()
	for rank := range records {
		watch.Expect(rank)
	}
	for _, a := range all {
		for _, n := range watch.Told(a.rank, a.Number, 0, a.Created) {
			if named[n.Rank] = n; n.Over {
				delete(named, n.Rank)
			}
		}
	}
	var list []string
	for _, rank := range slices.Sorted(maps.Keys(named)) {
		n := named[rank]
		list = append(list, fmt.Sprintf("rank %d in %d of %d, by %v", rank, n.Late, n.Steps, n.Excess.Round(time.Millisecond/10)))
	}
	return strings.Join(list, "; ")
}

// tellDumps logs what torch's watchdog has written about a failed round: when a collective takes too long the watchdog ends
// ranks, and their records show whom they waited for. It has no part in the verdict.
func (s *Supervisor) tellDumps(workers []*worker) {
	var of []int
	var since time.Time
	failed := false
	for i, w := range workers {
		failed = failed || w.outcome.Stop == exitcodes.NotStopped && w.outcome.Status != (exitcodes.Status{})
		if w.startedAt.After(since) {
			since = w.startedAt
		}
		of = append(of, i)
	}
	if !failed || len(workers) < 2 {
		return
	}
	records, err := task.Within(dumpsTime, func() (map[int]flight.Record, error) { return dumps(s.cfg.Dir, workers, of, since) }, nil)
	if err != nil {
		s.log.Warn("cannot read torch's flight recorder", "err", err)
	}
	if len(records) < len(workers) {
		return
	}
	var stands []hang.Stand
	var ranks []int
	for i, w := range workers {
		stands, ranks = append(stands, hang.Stand{Name: w.name(i)}), append(ranks, w.spec.Rank)
	}
	a := answers{torch: records}
	a.groups(stands, ranks)
	for i, c := range a.joined(workers[0].world(), ranks) {
		stands[i].Collectives = c
	}
	if _, why := hang.Differ(stands); why != "" {
		s.log.Warn("torch's flight recorder shows why a collective could not end", "why", why)
	} else if who, why := hang.Blame(stands); who >= 0 {
		s.log.Warn("torch's flight recorder shows which rank the others waited for", "rank", workers[who].spec.Rank, "why", why)
	}
	if late := comesLate(records); late != "" {
		s.log.Warn("torch's flight recorder shows who was repeatedly late to the collectives", "late", late)
	}
}
