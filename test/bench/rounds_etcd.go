package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// etcdServing, as the first argument, makes this program an etcd server: what etcd's own main would do, with its files
// in the directory that is the second argument.
const etcdServing = "etcd-server"

func serveEtcd(dir string) error {
	go func() { // whoever has started this has the other end
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	client, peer, err := freeURLs()
	if err != nil {
		return err
	}
	c := embed.NewConfig()
	c.Name, c.Dir, c.LogLevel = "bench", dir, "fatal"
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	<-e.Server.ReadyNotify()
	fmt.Println(client.String())
	return <-e.Err()
}

// freeURLs are two addresses at which nobody listens now.
func freeURLs() (a, b url.URL, err error) {
	for _, u := range []*url.URL{&a, &b} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return a, b, err
		}
		defer l.Close() // not before both are found
		*u = url.URL{Scheme: "http", Host: l.Addr().String()}
	}
	return a, b, nil
}

// etcdServer is an etcd of one member, a process of its own.
type etcdServer struct {
	cmd    *exec.Cmd
	client string // its URL
}

func (l *lab) startEtcd() (*etcdServer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(l.dir, "etcd-")
	if err != nil {
		return nil, err
	}
	// Should this program be killed, its end of the standard input is closed, and the server ends.
	cmd := exec.CommandContext(l.ctx, self, etcdServing, filepath.Join(dir, "data"))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is for us, and we end it
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &etcdServer{cmd: cmd}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the etcd server is not ready: %w", err)
	}
	s.client = strings.TrimSpace(line)
	return s, nil
}

func (s *etcdServer) stop() {
	_ = s.cmd.Process.Kill() // its files go, too
	_ = s.cmd.Wait()
}

// counts are what an etcd server has counted of its clients since it began.
type counts struct {
	requests float64 // and messages on streams, but for the renewals of leases
	renewals float64
	bytes    float64 // both ways
}

// load is what a server is asked in each second.
type load counts

// since is the load between two counts.
func (c counts) since(before counts, passed time.Duration) load {
	s := passed.Seconds()
	return load{(c.requests - before.requests) / s, (c.renewals - before.renewals) / s, (c.bytes - before.bytes) / s}
}

// above is what was asked after an earlier count, besides what is asked all the time.
func (c counts) above(before counts, passed time.Duration, always load) counts {
	s := passed.Seconds()
	return counts{
		requests: c.requests - before.requests - always.requests*s,
		renewals: c.renewals - before.renewals - always.renewals*s,
		bytes:    c.bytes - before.bytes - always.bytes*s,
	}
}

// idle measures what an idle job asks.
func (s *etcdServer) idle(ctx context.Context, long time.Duration) (load, error) {
	before, err := s.counts(ctx)
	if err != nil {
		return load{}, err
	}
	began := clock()
	if err := sleep(ctx, long); err != nil {
		return load{}, err
	}
	after, err := s.counts(ctx)
	return after.since(before, clock()-began), err
}

// quiet waits until the server was asked no more in a while than twice what it is asked all the time: an idle job's nodes
// ask when they are due, and no two of them together.
func (s *etcdServer) quiet(ctx context.Context, always load) error {
	const long, look = 50 * time.Millisecond, 25 * time.Millisecond
	last, err := s.counts(ctx)
	for since := clock(); err == nil && clock()-since < long; {
		if err = sleep(ctx, look); err != nil {
			break
		}
		var now counts
		if now, err = s.counts(ctx); err == nil && now.requests-last.requests > 2*always.requests*(clock()-since).Seconds() {
			since, last = clock(), now
		}
	}
	return err
}

func sleep(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// counts asks the server what it has counted.
func (s *etcdServer) counts(ctx context.Context) (counts, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.client+"/metrics", nil)
	if err != nil {
		return counts{}, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return counts{}, fmt.Errorf("what etcd has counted: %w", err)
	}
	defer res.Body.Close()
	return readCounts(res.Body)
}

// readCounts reads the text that a server shows to Prometheus. Without any of the counters it is an error.
func readCounts(r io.Reader) (counts, error) {
	var c counts
	found := map[*float64]int{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		name, _, _ := strings.Cut(line, "{")
		name, _, _ = strings.Cut(name, " ")
		var to *float64
		switch name {
		case "grpc_server_msg_received_total":
			if to = &c.requests; strings.Contains(line, `grpc_method="LeaseKeepAlive"`) {
				to = &c.renewals
			}
		case "etcd_network_client_grpc_received_bytes_total", "etcd_network_client_grpc_sent_bytes_total":
			to = &c.bytes
		}
		if to == nil {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return c, fmt.Errorf("what etcd has counted: %q: %w", line, err)
		}
		*to += value
		found[to]++
	}
	if err := lines.Err(); err != nil {
		return c, fmt.Errorf("what etcd has counted: %w", err)
	}
	if found[&c.requests] == 0 || found[&c.bytes] < 2 {
		return c, errors.New("what etcd has counted: neither its requests nor the bytes both ways are there")
	}
	return c, nil
}

// lengths are those of the values that each round writes.
type lengths struct{ node, job, round int }

// lengths reads them from the record of a job that runs.
func (s *etcdServer) lengths(ctx context.Context) (n lengths, err error) {
	st, err := s.open(ctx)
	if err != nil {
		return n, err
	}
	defer st.Close()
	res, err := st.Commit(ctx, store.Txn{Read: []string{"job", "nodes/trainer-0000", "rounds/"}})
	if err != nil {
		return n, err
	}
	for _, kv := range res.Read {
		switch {
		case kv.Key == "job": // without the round that came along when it began
			job, err := rendezvous.ParseJob(kv.Key, kv.Value)
			if err != nil {
				return n, err
			}
			value, err := rendezvous.Encode(job)
			if err != nil {
				return n, err
			}
			n.job = len(value)
		case strings.HasPrefix(kv.Key, "nodes/"):
			n.node = len(kv.Value)
		default:
			n.round = len(kv.Value) // the newest is the longest or as long
		}
	}
	if n.job == 0 || n.node == 0 || n.round == 0 {
		return n, fmt.Errorf("the record of the job is not whole: %+v", n)
	}
	return n, nil
}
