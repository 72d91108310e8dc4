package chaos_test

import (
	"bufio"
	"encoding/json"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/test/chaos/history"
)

// live is a worker that has called.
type live struct {
	history.Record
	pid  int
	conn net.Conn
}

// saves reports whether a worker saves, which of those that share a directory only one does.
func (j *job) saves(w *live) bool { return w.Rank == 0 || j.own && w.Rank%j.ranks == 0 }

// serve hears of workers, and of their ends.
func (j *job) serve(l *net.UnixListener) {
	j.tasks.Go(func() {
		for !j.over() {
			time.Sleep(50 * time.Millisecond)
		}
		l.Close()
		j.mu.Lock()
		defer j.mu.Unlock()
		for _, w := range j.workers {
			w.conn.Close()
		}
	})
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return
		}
		j.tasks.Go(func() { j.hear(conn) })
	}
}

func (j *job) hear(conn *net.UnixConn) {
	defer conn.Close()
	w := &live{conn: conn}
	raw, err := conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
				w.pid = int(cred.Pid) // as this process sees it, whatever namespace it is in
			}
		})
	}
	if err != nil {
		return
	}
	lines := bufio.NewReader(conn)
	line, err := lines.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &w.Record) != nil {
		return
	}
	j.mu.Lock()
	j.workers = append(j.workers, w)
	closed := j.closed
	j.mu.Unlock()
	if !closed {
		_, _ = lines.ReadByte()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.workers = slices.DeleteFunc(j.workers, func(other *live) bool { return other == w })
}
