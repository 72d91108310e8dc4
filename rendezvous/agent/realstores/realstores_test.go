// Package realstores runs whole jobs, by real agents with workers of straw, on real etcd servers of several releases.
package realstores

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/shared"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/etcd"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

func TestMain(m *testing.M) {
	etcdserver.Main()
	os.Exit(m.Run())
}

// jobTime is far beyond what one job here takes; a job that takes longer hangs.
const jobTime = time.Minute

var howMany = flag.Int("jobs", 0, "how many jobs are run on each cluster; 0: 10, or 100 with GANGRUN_TEST_LONG=1")

func jobs() int {
	if os.Getenv("GANGRUN_TEST_LONG") != "" {
		return cmp.Or(*howMany, 100)
	}
	return cmp.Or(*howMany, 10)
}

// TestJobsOnTheLinkedEtcd runs jobs on three members of the release that gangrun brings along.
func TestJobsOnTheLinkedEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: make test-long")
	}
	runJobs(t, "")
}

// TestJobsOnOtherEtcds runs jobs on three members of the releases before, and of whichever else are to be had.
func TestJobsOnOtherEtcds(t *testing.T) {
	programs := etcdserver.Others(t)
	if len(programs) == 0 {
		t.Skip("etcd 3.5 and 3.6, and others by GANGRUN_TEST_ETCD, are not run: make test-long")
	}
	for _, program := range programs {
		t.Run(strings.Trim(strings.ReplaceAll(program, "/", "_"), "_"), func(t *testing.T) { runJobs(t, program) })
	}
}

// runJobs runs jobs of two to four nodes on three members, plain and secured, a few at a time. Workers fail twice in
// each, and then succeed.
func runJobs(t *testing.T, program string) {
	is := func(s *etcdserver.Server) { s.Program = program }
	t.Run("plain", func(t *testing.T) {
		c := etcdserver.StartFor(t, "127.0.0.1", 3, is)
		runJobsIn(t, etcd.Config{Endpoints: c.Endpoints()})
	})
	t.Run("TLS and a password", func(t *testing.T) {
		secured := etcdserver.Secured(t)
		c := etcdserver.StartFor(t, "127.0.0.1", 3, func(s *etcdserver.Server) { is(s); secured(s) })
		s, way := c.Servers[0], etcd.Config{Endpoints: c.Endpoints()}
		way.CA, way.Cert, way.Key = s.CA, s.Cert, s.Key
		way.UserFile, way.PasswordFile = c.AskPassword(t)
		runJobsIn(t, way)
	})
}

func runJobsIn(t *testing.T, way etcd.Config) {
	places := make(chan struct{}, 4)
	var group sync.WaitGroup
	var hung, longest atomic.Int64
	for i := range jobs() {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			ctx, stop := context.WithTimeout(t.Context(), jobTime)
			defer stop()
			began := time.Now()
			if err := runJob(ctx, way, fmt.Sprint("job", i), 2+i%3); err != nil {
				hung.Add(1)
				t.Errorf("job %d: %v", i, err)
			}
			for took := int64(time.Since(began)); ; {
				if before := longest.Load(); took <= before || longest.CompareAndSwap(before, took) {
					break
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d of %d jobs did not succeed; the longest took %v", hung.Load(), jobs(),
		time.Duration(longest.Load()).Round(time.Millisecond))
}

const failures = 2

// runJob runs one job to its end.
func runJob(ctx context.Context, way etcd.Config, job string, nodes int) error {
	spec := rendezvous.DefaultSpec(nodes)
	spec.Restarts.Backoff = 0
	ends := make(chan error, nodes)
	var log shared.Buffer
	for i := range nodes {
		go func() { ends <- runNode(ctx, way, job, fmt.Sprint("node", i), i == 0, spec, &log) }()
	}
	for range nodes {
		if err := <-ends; err != nil {
			return fmt.Errorf("%w\n%s", err, log.String())
		}
	}
	return nil
}

// runNode is one node of a job. The workers of the first one fail.
func runNode(ctx context.Context, way etcd.Config, job, name string, fails bool, spec rendezvous.Spec, log *shared.Buffer) error {
	logger := slog.New(slog.NewTextHandler(log, nil)).With("job", job, "node", name)
	way.Namespace, way.Job, way.Log = "test", job, logger
	a := agent.Join(context.Background(), agent.Config{
		Connect: func(ctx context.Context) (store.Store, error) {
			s, err := etcd.Open(ctx, way)
			if err != nil {
				return nil, err // not s: a nil pointer in an interface is not nil
			}
			return s, nil
		},
		Name: name, Spec: spec, StopTime: time.Second, Log: logger,
		Node: rendezvous.Node{Incarnation: name + "#1", Slots: 1, Address: name},
	})
	defer a.Close()
	for {
		var o agent.Order
		select {
		case o = <-a.Orders():
		case <-ctx.Done():
			return fmt.Errorf("%s: no order came", name)
		}
		switch {
		case o.Start != nil && fails && o.Start.Round.Number < failures:
			failed := rendezvous.Outcome{Verdict: exitcodes.Retry, Reason: "Injected", Code: 1, Role: exitcodes.RoleRoot.String()}
			a.Failing(o.Start.Round.Number, failed, nil)
			a.Gone(o.Start.Round.Number, failed, nil)
		case o.Start != nil && o.Start.Round.Number == failures:
			a.Gone(failures, rendezvous.Outcome{Verdict: exitcodes.Success}, nil)
		case o.Stop != nil:
			a.Gone(o.Stop.Round, rendezvous.Outcome{}, nil)
		case o.End != nil:
			if o.End.Verdict != exitcodes.Success {
				return fmt.Errorf("%s: %+v", name, *o.End)
			}
			return nil
		}
	}
}
