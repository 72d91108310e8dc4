// Package notify hears what a worker says of itself, in the protocol of sd_notify(3): datagrams to the socket that
// NOTIFY_SOCKET names.
package notify

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes/crash"
)

const (
	maxDatagram = 4 << 10 // bytes; what is longer is refused
	maxRanks    = 4096    // that may report to one socket
	atOnce      = 4096    // datagrams that are read before somebody else gets a turn
)

// Socket is where one worker and its descendants report to.
type Socket struct {
	// Path is the socket's, for NOTIFY_SOCKET.
	Path string

	conn *net.UnixConn
	raw  syscall.RawConn
	done chan struct{}

	mu      sync.Mutex
	ranks   map[int]rank // -1 for a worker that does not say which it is
	total   *int64       // steps of the training run, as told last
	problem error
}

// rank is what one rank has said last.
type rank struct {
	step    *int64
	phase   string
	stepped bool // since the phase was told
	looks   bool
	own     time.Duration
	at      time.Time // the step was told
}

// Listen makes the socket at path, which must not exist. Something is put into changed, without waiting, whenever
// something was heard.
func Listen(path string, changed chan<- struct{}) (*Socket, error) {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("notify: %w", err)
	}
	s := &Socket{Path: path, conn: conn, raw: raw, done: make(chan struct{}), ranks: map[int]rank{}}
	crash.Go(func() { s.listen(changed) })
	return s, nil
}

func (s *Socket) listen(changed chan<- struct{}) {
	defer close(s.done)
	for {
		heard := false
		err := s.raw.Read(func(fd uintptr) bool {
			heard = s.drain(int(fd)) > 0
			return heard
		})
		if err != nil {
			return // closed
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// drain reads what has come, at most so many datagrams that a flood does not hold everything else up.
func (s *Socket) drain(fd int) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var buf [maxDatagram + 1]byte
	for n < atOnce {
		size, _, err := unix.Recvfrom(fd, buf[:], unix.MSG_DONTWAIT)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return n
		}
		n++
		if err := s.hear(buf[:size]); err != nil && s.problem == nil {
			s.problem = err
		}
	}
	return n
}

func (s *Socket) hear(datagram []byte) error {
	if len(datagram) > maxDatagram {
		return fmt.Errorf("a message of more than %d bytes", maxDatagram)
	}
	m, err := Parse(datagram)
	if err != nil {
		return err
	}
	if m.Total != nil {
		s.total = m.Total
	}
	if m.Step == nil && m.Phase == "" && !m.Looks {
		return nil
	}
	r, known := s.ranks[m.Rank]
	if !known && len(s.ranks) >= maxRanks {
		return errors.New("too many ranks on one socket")
	}
	if m.Step != nil {
		r.step, r.stepped, r.own, r.at = m.Step, true, m.Own, time.Now()
	}
	if m.Phase != "" {
		r.phase, r.stepped = m.Phase, false
	}
	r.looks = r.looks || m.Looks
	s.ranks[m.Rank] = r
	return nil
}

// Step is the step that every rank which reports here has finished, including what was sent right before the call.
func (s *Socket) Step() (step int64, known bool) {
	s.catchUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.ranks {
		if r.step != nil && (!known || *r.step < step) {
			step, known = *r.step, true
		}
	}
	return step, known
}

// Total is how many steps the training run has in all, as told last; nil while nobody has told.
func (s *Socket) Total() *int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Saving reports whether any rank that reports here is saving a checkpoint, by what was sent before the call.
func (s *Socket) Saving() bool {
	s.catchUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.ranks {
		if r.phase == PhaseCheckpoint {
			return true
		}
	}
	return false
}

// Report is what one rank has said last.
type Report struct {
	Rank  int    // -1 for a worker that does not say which it is
	Step  *int64 // nil when it has told none
	Phase string // "" when it has told none
	// Stepped tells that the step came after the phase.
	Stepped bool
	// Own is how much of the step the rank has spent without waiting for others; 0 when it has not told. At is when it came.
	Own time.Duration
	At  time.Time
}

// Reports are what the ranks that report here have said last, in no order.
func (s *Socket) Reports() []Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Report, 0, len(s.ranks))
	for n, r := range s.ranks {
		list = append(list, Report{Rank: n, Step: r.step, Phase: r.phase, Stepped: r.stepped, Own: r.own, At: r.at})
	}
	return list
}

// Told reports whether any rank has told a step here.
func (s *Socket) Told() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.ranks {
		if r.step != nil {
			return true
		}
	}
	return false
}

// catchUp reads what was sent before.
func (s *Socket) catchUp() {
	_ = s.raw.Control(func(fd uintptr) { s.drain(int(fd)) }) // closed: what was heard before counts
}

// Problem is the first message that could not be understood, once: nil until there is one, and after it was told.
func (s *Socket) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.problem
	if err != nil {
		s.problem = errTold
	}
	if err == errTold {
		return nil
	}
	return err
}

var errTold = errors.New("told already")

// Close ends the socket and removes it.
func (s *Socket) Close() {
	_ = s.conn.SetReadDeadline(time.Unix(1, 0))
	_ = s.conn.Close()
	<-s.done
	_ = os.Remove(s.Path) // or the directory's owner does it
}
