package output

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// TailSize is how many bytes a [Tail] keeps.
const TailSize = 64 << 10

// maxHeld is how much of a line a tail waits for before it takes the line's start without its end.
const maxHeld = 4 << 10

// Tail keeps the last 64 KiB of what one worker printed, standard output and error together, for the verdict about its
// end. Lines stand in the order in which they were complete, so a line that is written in several steps is not broken
// up by the other stream. The zero value is an empty tail, which takes next to no memory. All methods may be called at
// any time from any goroutine.
type Tail struct {
	mu    sync.Mutex
	ring  []byte // a power of two long, grows up to TailSize
	start int    // index of the oldest byte
	n     int    // how many bytes are in the ring
	cut   bool   // older bytes have gone
	parts []*tailPart
	mid   *tailPart // whose line the ring ends in the middle of; nil when it ends with a newline
	total int64     // bytes that ever went into the ring
	begin time.Time // when the first of them did
	marks []mark    // when the others did, in order; at most maxMarks
}

// mark says that what went into the ring from byte pos on came so long after the first byte, and by which stream.
type mark struct {
	pos    int64
	after  time.Duration
	stream uint8 // from 1; 0: by more than one
}

// What came within a few milliseconds counts as having come at once. When there are too many marks every second one of the
// older half goes: what came last matters most.
const (
	maxMarks = 2048
	apart    = 5 * time.Millisecond
)

// tailPart is one stream's way into a tail.
type tailPart struct {
	tail   *Tail
	number uint8         // from 1
	held   []byte        // the start of a line that has not ended
	since  time.Duration // when the last of it came
}

// Bytes returns a copy of at most TailSize bytes, oldest first. When older output is missing it starts at the start of
// a line, unless the lines in it are as long as half of it.
func (t *Tail) Bytes() []byte {
	text, _ := t.Read()
	return text
}

// Read is Bytes with the times at which the parts of it arrived.
func (t *Tail) Read() (text []byte, arrived []exitcodes.Arrival) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.ring[t.start:min(t.start+t.n, len(t.ring))]
	out := make([]byte, 0, t.n+maxHeld)
	out = append(out, first...)
	out = append(out, t.ring[:t.n-len(first)]...)
	mid, marks := t.mid, slices.Clone(t.marks)
	for _, part := range t.parts {
		if len(part.held) == 0 {
			continue
		}
		m := mark{t.total + int64(len(out)-t.n), part.since, part.number}
		if n := len(marks); n > 0 {
			m.after = max(m.after, marks[n-1].after) // it was not complete by then
		}
		marks = append(marks, m)
		if mid != nil && mid != part {
			out = append(out, '\n')
		}
		out = append(out, part.held...)
		mid = part
	}
	cut, start := t.cut, t.total-int64(t.n)
	if over := len(out) - TailSize; over > 0 {
		out, cut = out[over:], true
		start += int64(over)
	}
	if cut {
		if i := bytes.IndexByte(out[:len(out)/2], '\n'); i >= 0 {
			out = out[i+1:]
			start += int64(i + 1)
		}
	}
	return out, t.arrivals(marks, start)
}

// arrivals are the marks from byte from on, counted from there.
func (t *Tail) arrivals(marks []mark, from int64) []exitcodes.Arrival {
	var list []exitcodes.Arrival
	for _, m := range marks {
		a := exitcodes.Arrival{Offset: int(max(0, m.pos-from)), At: t.begin.Add(m.after), Stream: int(m.stream)}
		if n := len(list); n > 0 && list[n-1].Offset == 0 && a.Offset == 0 {
			list = list[:0]
		}
		list = append(list, a)
	}
	return list
}

// arrive notes when what goes into the ring next came, and by which stream.
func (t *Tail) arrive(at time.Time, stream uint8) {
	after := t.since(at)
	if n := len(t.marks); n > 0 && after-t.marks[n-1].after < apart && t.marks[n-1].stream == stream {
		return
	}
	if len(t.marks) == maxMarks {
		kept := t.marks[:0]
		for i, m := range t.marks {
			if next := i + 1; next < len(t.marks) && t.marks[next].pos <= t.total-int64(t.n) || i%2 == 1 && i < maxMarks/2 {
				if n := len(kept); n > 0 && kept[n-1].stream != m.stream {
					kept[n-1].stream = 0
				}
				continue // its bytes are gone, or it gives way
			}
			kept = append(kept, m)
		}
		t.marks = kept
	}
	t.marks = append(t.marks, mark{t.total, after, stream})
}

// since is how long after the first byte that is.
func (t *Tail) since(at time.Time) time.Duration {
	if t.begin.IsZero() {
		t.begin = at
	}
	return at.Sub(t.begin)
}

// join adds a stream.
func (t *Tail) join() *tailPart {
	t.mu.Lock()
	defer t.mu.Unlock()
	part := &tailPart{tail: t, number: uint8(len(t.parts) + 1)}
	t.parts = append(t.parts, part)
	return part
}

func (part *tailPart) write(p []byte) {
	t := part.tail
	t.mu.Lock()
	defer t.mu.Unlock()
	if end := bytes.LastIndexByte(p, '\n') + 1; end > 0 {
		t.arrive(time.Now(), part.number)
		t.add(part, part.held)
		t.add(part, p[:end])
		part.held = part.held[:0]
		p = p[end:]
	}
	if len(part.held)+len(p) > maxHeld {
		t.arrive(time.Now(), part.number)
		t.add(part, part.held)
		t.add(part, p)
		part.held = part.held[:0]
		return
	}
	if len(p) > 0 {
		part.held, part.since = append(part.held, p...), t.since(time.Now())
	}
}

// add puts p behind what is there; a line that another stream left unfinished is ended first.
func (t *Tail) add(part *tailPart, p []byte) {
	if len(p) == 0 {
		return
	}
	if t.mid != nil && t.mid != part {
		t.push([]byte{'\n'})
	}
	t.push(p)
	t.mid = part
	if p[len(p)-1] == '\n' {
		t.mid = nil
	}
}

func (t *Tail) push(p []byte) {
	t.total += int64(len(p))
	if over := len(p) - TailSize; over > 0 {
		p = p[over:]
		t.cut = true
	}
	t.grow(t.n + len(p))
	if over := t.n + len(p) - len(t.ring); over > 0 {
		t.start = (t.start + over) % len(t.ring)
		t.n -= over
		t.cut = true
	}
	at := (t.start + t.n) % len(t.ring)
	t.n += len(p)
	copied := copy(t.ring[at:], p)
	copy(t.ring, p[copied:])
}

// grow makes room for n bytes by doubling, as far as a tail may grow. Until that is reached nothing has been
// overwritten, and the oldest byte is the ring's first.
func (t *Tail) grow(n int) {
	size := max(len(t.ring), 1<<10)
	for size < n && size < TailSize {
		size *= 2
	}
	if size > len(t.ring) {
		t.ring = append(make([]byte, 0, size), t.ring[:t.n]...)[:size]
	}
}
