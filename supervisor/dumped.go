package supervisor

import (
	"errors"
	"os"
	"time"

	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/evidence/flight"
)

// dumpsTime is how long files of torch's watchdog are waited for: their disk may be what hangs.
const dumpsTime = 2 * time.Second

// dumped takes what torch's watchdog has written of workers since the last progress was seen, where no rank has answered:
// what came before tells of another moment of each.
func (a *answers) dumped(dir string, workers []*worker, of []int, since time.Time) {
	if len(a.torch) > 0 || since.IsZero() {
		return
	}
	records, err := within(dumpsTime, func() (map[int]flight.Record, error) { return dumps(dir, workers, of, since) }, nil)
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
		for _, path := range flight.Dumps(env, dir, w.spec.Rank) {
			r, _, err := flight.ReadDump(path, since)
			if err == nil {
				records[w.spec.Rank] = r
				break
			}
			if !errors.Is(err, os.ErrNotExist) && unread == nil {
				unread = err
			}
		}
	}
	return records, unread
}
