package etcd_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// countPings reads what a client sends over an HTTP/2 connection without TLS.
func countPings(from io.Reader, pings *atomic.Int64) {
	in := bufio.NewReader(from)
	_, _ = in.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	for {
		var head [9]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		const ping, ack = 6, 1
		if head[3] == ping && head[4] != ack {
			pings.Add(1)
		}
		if _, err := in.Discard(int(binary.BigEndian.Uint32(head[:4]) >> 8)); err != nil {
			return
		}
	}
}

// TestNoPingForEachMessage: a node does not ask of the connection how long its way is with each message that comes in. In a
// restart of many nodes that is as much work as the messages are.
func TestNoPingForEachMessage(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, nil)
	var pings atomic.Int64
	way := newTappedProxy(t, c.Servers[0].Client, func() io.Writer {
		read, write := io.Pipe()
		t.Cleanup(func() { write.Close() })
		go countPings(read, &pings)
		return write
	})
	conf := c.config("job")
	conf.Endpoints = []string{way.endpoint()}
	s := open(t, conf)
	view := storetest.Follow(t, s, "job")
	const messages = 100 // and as many answers
	for i := range messages {
		rev := storetest.Commit(t, s, store.Txn{Then: []store.Op{store.Put("job", fmt.Append(nil, i))}}).Rev
		view.Until("the change", func() bool { return view.Rev >= rev })
	}
	if n := pings.Load(); n > 2 { // to see whether it is alive, on a slow machine
		t.Errorf("%d pings for %d messages", n, messages)
	}
}
