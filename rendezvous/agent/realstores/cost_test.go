package realstores

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/etcd"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// gang is the nodes of a job that restarts without end. Their workers stop at once.
type gang struct {
	t      *testing.T
	server *etcdserver.Server
	agents []*agent.Agent
	starts chan int // the rounds that the nodes start
}

func joinGang(t *testing.T, nodes int, pause time.Duration) *gang {
	g := &gang{t: t, server: etcdserver.StartFor(t, "127.0.0.1", 1, nil).Servers[0], starts: make(chan int, nodes)}
	spec := rendezvous.DefaultSpec(nodes)
	spec.Restarts = rendezvous.Restarts{
		Max: 1 << 20, Exhausted: rendezvous.ExhaustedRetry,
		Backoff: rendezvous.Duration(pause), BackoffMax: rendezvous.Duration(pause),
	}
	for i := range nodes {
		name := fmt.Sprintf("trainer-%04d", i)
		a := agent.Join(t.Context(), agent.Config{
			Connect: func(ctx context.Context) (store.Store, error) {
				return etcd.Open(ctx, etcd.Config{Endpoints: []string{g.server.Client}, Namespace: "bench", Job: "rounds"})
			},
			Name: name, Spec: spec, StopTime: time.Second, Lease: time.Hour, Log: slog.New(slog.DiscardHandler),
			Node: rendezvous.Node{Incarnation: name, Slots: 8, Address: name + ".example.org"},
		})
		t.Cleanup(a.Close)
		g.agents = append(g.agents, a)
		go g.obey(a)
	}
	return g
}

func (g *gang) obey(a *agent.Agent) {
	for {
		select {
		case o := <-a.Orders():
			switch {
			case o.Start != nil:
				g.starts <- o.Start.Round.Number
			case o.Stop != nil:
				a.Gone(o.Stop.Round, rendezvous.Outcome{}, nil)
			}
		case <-g.t.Context().Done():
			return
		}
	}
}

// started waits until all nodes have started a round.
func (g *gang) started(round int) {
	g.t.Helper()
	for range g.agents {
		select {
		case got := <-g.starts:
			if got != round {
				g.t.Fatalf("round %d begins, want %d", got, round)
			}
		case <-time.After(jobTime):
			g.t.Fatalf("round %d has not begun", round)
		}
	}
}

// mostRequests is how many a round may cost each node.
const mostRequests = 6

// TestWhatARoundCostsAtTheServer counts there what two nodes ask and are told in a restart, when the job's record is as
// long as it gets. With more nodes it is less for each, since what the leader alone hears is shared.
func TestWhatARoundCostsAtTheServer(t *testing.T) {
	t.Run("at once", func(t *testing.T) { costs(t, 0, "", 8<<10) })
	// The record is written once more, and says more.
	t.Run("after a pause", func(t *testing.T) { costs(t, 200*time.Millisecond, "rank 0 was killed by SIGKILL", 11<<10) })
}

// costs counts what a restart costs after such a pause, when the failure is told in such words.
func costs(t *testing.T, pause time.Duration, message string, mostBytes float64) {
	t.Parallel()
	const nodes, before, counted = 2, 9, 3
	g := joinGang(t, nodes, pause)
	g.started(0)
	killed := rendezvous.Outcome{
		Verdict: exitcodes.Retry, Reason: "KilledBySIGKILL", Message: message, Code: 137, Signal: 9,
	}
	fail := func(round int) {
		g.agents[round%nodes].Failing(round, killed, nil)
		g.agents[round%nodes].Gone(round, killed, nil)
		g.started(round + 1)
	}
	for round := range before {
		fail(round)
	}
	requests, bytes := g.settled()
	began, r, b := time.Now(), 0.0, 0.0
	for round := range counted {
		fail(before + round)
		r, b = g.settled()
	}
	questions := g.counted("etcd_debugging_mvcc_watcher_total") * math.Floor(time.Since(began).Seconds()/quietFor)
	requests, bytes = max(0, r-requests-questions)/(nodes*counted), (b-bytes)/(nodes*counted)
	t.Logf("%.1f requests and %.0f bytes for each node and round", requests, bytes)
	if requests > mostRequests || bytes > mostBytes {
		t.Errorf("%.1f requests and %.0f bytes for each node and round, want at most %d and %.0f",
			requests, bytes, mostRequests, mostBytes)
	}
}

// putOff is longer than a node puts off what belongs to a round: a second (tick, lookAgain, owedMost, partTime).
const putOff = 1250 * time.Millisecond

// quietFor is after how many quiet seconds a watch asks how far its stream is, round or no round.
const quietFor = 5

// settled waits until nothing of a round is left to be said, and returns what all has cost until then. The server counts
// each message and byte, so a node that had anything left would have been heard within putOff.
func (g *gang) settled() (requests, bytes float64) {
	g.t.Helper()
	requests, bytes = g.cost()
	for since, began := time.Now(), time.Now(); time.Since(since) < putOff; {
		time.Sleep(putOff / 10)
		if r, b := g.cost(); r != requests || b != bytes {
			requests, bytes, since = r, b, time.Now()
		}
		if time.Since(began) > jobTime {
			g.t.Fatal("the nodes never come to rest")
		}
	}
	return requests, bytes
}

// cost is what the server was asked, and told and was told in bytes, since it began.
func (g *gang) cost() (requests, bytes float64) {
	return g.counted("grpc_server_msg_received_total"),
		g.counted("etcd_network_client_grpc_received_bytes_total") + g.counted("etcd_network_client_grpc_sent_bytes_total")
}

// counted is the sum of the values that the server shows to Prometheus under this name.
func (g *gang) counted(name string) float64 {
	g.t.Helper()
	res, err := http.Get(g.server.Client + "/metrics")
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	sum, found := 0.0, false
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		n, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			g.t.Fatal(err)
		}
		sum, found = sum+n, true
	}
	if !found {
		g.t.Fatalf("the server does not show %s", name)
	}
	return sum
}
