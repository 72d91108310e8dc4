package progress

import (
	"bytes"
	"strconv"
	"sync"
	"time"
)

// Sign is the newest that a worker's output has shown.
type Sign struct {
	Steps int    // how many lines with another step there were; 0: none
	Step  int64  // of the newest of them
	Phase string // the newest phase; empty before the first
	// Stepped tells that the newest step came after the newest phase began.
	Stepped bool
	At      time.Time // the newest step or phase was shown
	Bytes   int64     // printed
	Profile string    // that fits; empty: none does yet
}

// mostLooked is how much of the end of a burst of output is read in any case, mostEach how much a second of what comes before
// it. Between its steps a program prints tables; steps within more output than that do not matter.
const (
	mostLooked = 2 << 10
	mostEach   = 256 << 10
)

// Reader reads the output of one worker, of its two streams. Its methods may be called from any goroutine.
type Reader struct {
	// Fits, when set, is told which profile was found to fit, once. It must not wait.
	Fits func(name string)

	mu      sync.Mutex
	profile *Profile
	tried   map[*Profile]int64 // the last step that each may have shown, where none is named
	sign    Sign
	since   time.Time // the second began
	looked  int       // in it
}

// NewReader reads by that profile; without one, by the first that fits: of which there were two lines with different
// steps.
func NewReader(p *Profile) *Reader {
	r := &Reader{profile: p}
	if p != nil {
		r.sign.Profile = p.Name
	} else {
		r.tried = map[*Profile]int64{}
	}
	return r
}

// Sign is the newest that there is.
func (r *Reader) Sign() Sign {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sign
}

// Stream takes what one stream of the worker prints, as it comes. It keeps nothing of p.
func (r *Reader) Stream() func(p []byte) {
	var held []byte // the start of a line
	return func(p []byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sign.Bytes += int64(len(p))
		if len(p) > mostLooked && !r.mayLook(len(p)) {
			p, held = p[len(p)-mostLooked:], held[:0]
		}
		for len(p) > 0 {
			end := bytes.IndexAny(p, "\r\n")
			if end < 0 {
				break
			}
			line := p[:end]
			if len(held) > 0 {
				line = append(held, line...)
			}
			r.line(line)
			held, p = held[:0], p[end+1:]
		}
		// A progress bar ends its updates only with the next one's carriage return, or does not write even that.
		if held = append(held, p...); len(held) > mostLooked {
			held = held[:0]
		}
		if len(p) > 0 && bytes.Contains(held, percent) {
			r.line(held)
		}
	}
}

var percent = []byte("%|")

// mayLook reports whether so much may be read, too.
func (r *Reader) mayLook(size int) bool {
	if now := time.Now(); now.Sub(r.since) >= time.Second {
		r.since, r.looked = now, 0
	}
	if r.looked+size > mostEach {
		return false
	}
	r.looked += size
	return true
}

// line looks at one line.
func (r *Reader) line(line []byte) {
	if len(line) < 3 {
		return
	}
	if r.profile != nil {
		r.by(r.profile, line)
		return
	}
	for i := range profiles {
		p := &profiles[i]
		step, phase, found := p.step(line)
		if !found || phase != "" {
			continue
		}
		if before, again := r.tried[p]; again && before != step {
			r.profile, r.tried, r.sign.Profile = p, nil, p.Name
			r.sign.Steps, r.sign.Step, r.sign.Stepped, r.sign.At = 2, step, true, time.Now()
			if r.Fits != nil {
				r.Fits(p.Name)
			}
			return
		}
		r.tried[p] = step
		return
	}
}

// by reads a line by a profile.
func (r *Reader) by(p *Profile, line []byte) {
	if step, phase, found := p.step(line); found {
		if r.sign.Steps > 0 && step == r.sign.Step {
			return
		}
		r.sign.Steps++
		r.sign.Step, r.sign.At = step, time.Now()
		if r.sign.Stepped = phase == ""; phase != "" {
			r.sign.Phase = phase
		}
		return
	}
	for i := range p.Phases {
		if _, _, found := p.Phases[i].find(line); found {
			r.sign.Phase, r.sign.Stepped, r.sign.At = p.Phases[i].Phase, false, time.Now()
			return
		}
	}
}

// step is the step that a line shows, and in which phase, from then on; empty is train.
func (p *Profile) step(line []byte) (step int64, phase string, found bool) {
	for i := range p.Steps {
		number, last, ok := p.Steps[i].find(line)
		if !ok {
			continue
		}
		step, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil || step < 0 {
			continue // the user's own pattern may find anything
		}
		if last {
			return step, loopEnd, true
		}
		return step, p.Steps[i].Phase, true
	}
	return 0, "", false
}

func containsAll(line []byte, literals []string) bool {
	for _, l := range literals {
		if !bytes.Contains(line, []byte(l)) { // the compiler does not copy l
			return false
		}
	}
	return true
}
