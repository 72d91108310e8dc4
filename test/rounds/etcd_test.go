package rounds_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/gangrun/gangrun/rendezvous/store/etcd"
)

// The etcd servers are processes of their own, so that they can be killed: this test, started again, doing what etcd's
// own main would do.
const serveVariable = "GANGRUN_TEST_ETCD_SERVER"

// server is one member of a cluster.
type server struct {
	Name, Dir, Client, Peer string
	Cluster                 string // name=peer,…

	process *os.Process
	ended   chan struct{}
}

func serve(spec string) error {
	var s server
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return err
	}
	c := embed.NewConfig()
	c.Name, c.Dir, c.InitialCluster = s.Name, s.Dir, s.Cluster
	c.ListenClientUrls, c.AdvertiseClientUrls = parsed(s.Client), parsed(s.Client)
	c.ListenPeerUrls, c.AdvertisePeerUrls = parsed(s.Peer), parsed(s.Peer)
	c.UnsafeNoFsync = true
	c.BcryptCost = 4 // a login must not take seconds on a busy machine
	c.LogLevel = "error"
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	<-e.Server.ReadyNotify()
	fmt.Println("ready")
	return <-e.Err()
}

func parsed(text string) []url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return []url.URL{*u}
}

// cluster is an etcd of some members.
type cluster struct{ servers []*server }

// newCluster starts a cluster whose files are in dir. Clients reach it at host.
func newCluster(dir, host string, size int) (*cluster, error) {
	c := &cluster{}
	var peers []string
	for i := range size {
		client, err := freeAddr(host)
		if err != nil {
			return nil, err
		}
		peer, err := freeAddr("127.0.0.1")
		if err != nil {
			return nil, err
		}
		s := &server{Name: fmt.Sprintf("m%d", i), Client: "http://" + client, Peer: "http://" + peer}
		s.Dir = filepath.Join(dir, s.Name)
		peers = append(peers, s.Name+"="+s.Peer)
		c.servers = append(c.servers, s)
	}
	for _, s := range c.servers {
		s.Cluster = strings.Join(peers, ",")
	}
	return c, c.start(c.servers...)
}

// ownCluster is a cluster for one test.
func ownCluster(t *testing.T, host string, size int) *cluster {
	t.Helper()
	c, err := newCluster(t.TempDir(), host, size)
	if c != nil {
		t.Cleanup(c.end)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// freeAddr returns an address that nobody listens on. It is not one of those that outgoing connections get.
func freeAddr(host string) (string, error) {
	var err error
	for range 100 {
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(15000+rand.N(15000)))); err == nil {
			defer l.Close()
			return l.Addr().String(), nil
		}
	}
	return "", err
}

// start starts servers and waits until they are ready.
func (c *cluster) start(servers ...*server) error {
	ready := make(chan error, len(servers))
	for _, s := range servers {
		spec, err := json.Marshal(s)
		if err != nil {
			return err
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), serveVariable+"="+string(spec))
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		started, ended := make(chan error, 1), make(chan struct{})
		go func() {
			defer close(ended)
			// The signal comes when the thread ends that has started the process.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			err := cmd.Start()
			started <- err
			if err != nil {
				return
			}
			lines := bufio.NewScanner(out)
			if lines.Scan() && lines.Text() == "ready" {
				ready <- nil
				_, _ = io.Copy(io.Discard, out)
			} else {
				ready <- fmt.Errorf("%s is not ready: %s", s.Name, lines.Text())
			}
			_ = cmd.Wait()
		}()
		if err := <-started; err != nil {
			return err
		}
		s.process, s.ended = cmd.Process, ended
	}
	for range servers {
		select {
		case err := <-ready:
			if err != nil {
				return err
			}
		case <-time.After(time.Minute):
			return fmt.Errorf("the etcd servers are not ready")
		}
	}
	return nil
}

// kill kills a server at once, if it runs.
func (c *cluster) kill(s *server) {
	if s.process == nil {
		return
	}
	_ = s.process.Kill()
	<-s.ended
	s.process = nil
}

func (c *cluster) end() {
	for _, s := range c.servers {
		c.kill(s)
	}
}

// store is the cluster as --store takes it.
func (c *cluster) store() string {
	var all []string
	for _, s := range c.servers {
		all = append(all, s.Client)
	}
	return strings.Join(all, ",")
}

// client is etcd's own client, for what an administrator does.
func (c *cluster) client(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: strings.Split(c.store(), ","), DialTimeout: 10 * time.Second, Logger: etcd.Zap(nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// sharedCluster is one server for all tests that only need one to be there. Their jobs have names of their own.
type sharedCluster struct {
	once sync.Once
	dir  string
	c    *cluster
	err  error
}

var shared sharedCluster

func (s *sharedCluster) get(t *testing.T) *cluster {
	t.Helper()
	s.once.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "rounds-etcd"); s.err == nil {
			s.c, s.err = newCluster(s.dir, "127.0.0.1", 1)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.c
}

func (s *sharedCluster) end() {
	if s.c != nil {
		s.c.end()
	}
	_ = os.RemoveAll(s.dir)
}
