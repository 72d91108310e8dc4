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

func joinGang(t *testing.T, nodes int) *gang {
	g := &gang{t: t, server: etcdserver.StartFor(t, "127.0.0.1", 1, nil).Servers[0], starts: make(chan int, nodes)}
	spec := rendezvous.DefaultSpec(nodes)
	spec.Restarts = rendezvous.Restarts{Max: 1 << 20, Exhausted: rendezvous.ExhaustedRetry}
	for i := range nodes {
		name := fmt.Sprintf("trainer-%04d", i)
		a := agent.Join(t.Context(), agent.Config{
			Connect: func(ctx context.Context) (store.Store, error) {
				s, err := etcd.Open(ctx, etcd.Config{Endpoints: []string{g.server.Client}, Namespace: "bench", Job: "rounds"})
				if err != nil {
					return nil, err // not s: a nil pointer in an interface is not nil
				}
				return s, nil
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

// What a round may cost each node.
const (
	mostRequests = 6
	mostBytes    = 9 << 10 // 8 KiB where the job has stopped no more than three times
)

// TestWhatARoundCostsAtTheServer counts there what two nodes ask and are told in a restart, when the job's record is as
// long as it gets. With more nodes it is less for each, since what the leader alone hears is shared.
func TestWhatARoundCostsAtTheServer(t *testing.T) {
	const nodes, before, counted = 2, 9, 3
	g := joinGang(t, nodes)
	g.started(0)
	killed := rendezvous.Outcome{Verdict: exitcodes.Retry, Reason: "KilledBySIGKILL", Code: 137, Signal: 9}
	fail := func(round int) {
		g.agents[round%nodes].Failing(round, killed, nil)
		g.agents[round%nodes].Gone(round, killed, nil)
		g.started(round + 1)
	}
	for round := range before {
		fail(round)
	}
	const settled = 2 * time.Second // what is put off, and the questions how far the streams are
	var requests, bytes float64
	for round, tries := before, 0; ; tries++ {
		time.Sleep(settled)
		began := time.Now()
		r, b := g.cost()
		for range counted {
			fail(round)
			time.Sleep(settled)
			round++
		}
		requests, bytes = g.cost()
		requests, bytes = (requests-r)/(nodes*counted), (bytes-b)/(nodes*counted)
		// What a lease costs goes by time: where the machine stood still, it is not the rounds that were counted.
		if time.Since(began) < counted*settled*3/2 || tries == 3 {
			break
		}
	}
	t.Logf("%.1f requests and %.0f bytes for each node and round", requests, bytes)
	if requests > mostRequests || bytes > mostBytes {
		t.Errorf("%.1f requests and %.0f bytes for each node and round, want at most %d and %d",
			requests, bytes, mostRequests, mostBytes)
	}
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
