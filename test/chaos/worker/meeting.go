package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/gangrun/gangrun/test/chaos/history"
)

// meeting is where the ranks of a round wait for each other at each step: rank 0 listens, the others call.
type meeting struct {
	w     *worker
	peers []*peer // those that have called; of another rank than 0 the one it has called
}

type peer struct {
	net.Conn
	*bufio.Reader
}

// patience is how long a rank waits for the others at the beginning.
const patience = 10 * time.Second

func meet(w *worker) (*meeting, error) {
	m := &meeting{w: w}
	if w.at.World == 1 {
		return m, nil
	}
	address := net.JoinHostPort(os.Getenv("MASTER_ADDR"), os.Getenv("MASTER_PORT"))
	if w.at.Rank == 0 {
		return m, m.host()
	}
	for until := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			m.peers = []*peer{{conn, bufio.NewReader(conn)}}
			_, err = fmt.Fprintln(conn, w.at.Round, w.at.Rank)
			return m, err
		}
		if time.Now().After(until) {
			return nil, err
		}
	}
}

// host waits for all other ranks of this round.
func (m *meeting) host() error {
	l, err := net.Listen("tcp", ":"+os.Getenv("MASTER_PORT"))
	if err != nil {
		return err
	}
	defer l.Close()
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
	called := map[int]*peer{}
	for len(called) < m.w.at.World-1 {
		conn, err := l.Accept()
		if err != nil {
			return fmt.Errorf("%d of %d ranks have called: %w", len(called)+1, m.w.at.World, err)
		}
		p := &peer{conn, bufio.NewReader(conn)}
		var round, rank int
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := fmt.Fscanln(p.Reader, &round, &rank); err != nil {
			conn.Close()
			continue
		}
		_ = conn.SetReadDeadline(time.Time{})
		if round != m.w.at.Round {
			m.w.write(history.Foreign, "", fmt.Sprintf("rank %d of round %d", rank, round))
			conn.Close()
			continue
		}
		called[rank] = p
	}
	for _, p := range called {
		m.peers = append(m.peers, p)
	}
	return nil
}

// together returns when all ranks are at the step. Rank 0 says whether it is the last.
func (m *meeting) together(step int) (last bool, err error) {
	if m.w.at.Rank != 0 {
		return m.called(step)
	}
	for _, p := range m.peers {
		var theirs int
		if _, err := fmt.Fscanln(p.Reader, &theirs); err != nil {
			return false, err
		}
		if theirs != step {
			return false, fmt.Errorf("step %d meets step %d", theirs, step)
		}
	}
	_, err = os.Stat(filepath.Join(m.w.dir, "finish"))
	last = err == nil
	for _, p := range m.peers {
		if _, err := fmt.Fprintln(p.Conn, step, last); err != nil {
			return false, err
		}
	}
	return last, nil
}

func (m *meeting) called(step int) (last bool, err error) {
	p := m.peers[0]
	if _, err := fmt.Fprintln(p.Conn, step); err != nil {
		return false, err
	}
	var theirs int
	if _, err := fmt.Fscanln(p.Reader, &theirs, &last); err != nil {
		return false, err
	}
	if theirs != step {
		return false, errors.New("another step than this rank's")
	}
	return last, nil
}

// leave waits until all have heard of the end: rank 0 for the others to hang up.
func (m *meeting) leave() error {
	for _, p := range m.peers {
		if m.w.at.Rank != 0 {
			return p.Close()
		}
		_, _ = p.ReadByte()
	}
	return nil
}
