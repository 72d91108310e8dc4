package notify

import "time"

const (
	together  = 100 * time.Millisecond // as long as reports may lie
	mostCalm  = 2                      // reports to one socket in that time
	burstOver = time.Minute            // without more
)

// burst notes whether more reports come to one socket at once than its queue is sure to hold.
type burst struct {
	windows map[int]window // by descriptor
	until   time.Time
}

type window struct {
	from time.Time
	n    int
}

// came takes that a report has come.
func (b *burst) came(socket int, at time.Time) {
	if b.windows == nil {
		b.windows = map[int]window{}
	}
	w := b.windows[socket]
	if since := at.Sub(w.from); since < 0 || since >= together {
		w = window{from: at}
	}
	if w.n++; w.n > mostCalm {
		b.until = at.Add(burstOver)
	}
	b.windows[socket] = w
}

func (b *burst) over(now time.Time) bool { return !now.Before(b.until) }
