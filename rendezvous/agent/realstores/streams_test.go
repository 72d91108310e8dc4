package realstores

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/etcd"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// TestOneStreamForEachNode counts at the server what nodes hear by, the leader among them: one stream of updates each,
// however many keys it watches.
func TestOneStreamForEachNode(t *testing.T) {
	const nodes = 5
	server := etcdserver.StartFor(t, "127.0.0.1", 1, nil).Servers[0]
	before := counted(t, server, "etcd_debugging_mvcc_watch_stream_total")
	started := make(chan int, nodes)
	for i := range nodes {
		name := fmt.Sprint("node", i)
		a := agent.Join(t.Context(), agent.Config{
			Connect: func(ctx context.Context) (store.Store, error) {
				return etcd.Open(ctx, etcd.Config{Endpoints: []string{server.Client}, Namespace: "test", Job: "streams"})
			},
			Name: name, Spec: rendezvous.DefaultSpec(nodes), StopTime: time.Second, Log: slog.New(slog.DiscardHandler),
			Node: rendezvous.Node{Incarnation: name + "#1", Slots: 1, Address: name},
		})
		defer a.Close()
		go func() {
			if o := <-a.Orders(); o.Start != nil {
				started <- i
			}
		}()
	}
	for range nodes {
		select {
		case <-started:
		case <-time.After(jobTime):
			t.Fatal("the round has not begun")
		}
	}
	// All watches are there once each candidate but the leader has the one before it in sight.
	const watches = nodes*2 + (nodes - 1) + 1
	for until := time.Now().Add(jobTime); counted(t, server, "etcd_debugging_mvcc_watcher_total") < watches; time.Sleep(tick) {
		if time.Now().After(until) {
			t.Fatalf("%v watches, want %d", counted(t, server, "etcd_debugging_mvcc_watcher_total"), watches)
		}
	}
	if got := counted(t, server, "etcd_debugging_mvcc_watch_stream_total") - before; got != nodes {
		t.Errorf("%v streams of updates for %d nodes", got, nodes)
	}
}

const tick = 20 * time.Millisecond

// counted is the value that a server shows to Prometheus under this name.
func counted(t *testing.T, server *etcdserver.Server, name string) float64 {
	t.Helper()
	res, err := http.Get(server.Client + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), name+" "); found {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("the server does not show %s", name)
	return 0
}
