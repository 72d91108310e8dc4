package etcd_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/gangrun/gangrun/rendezvous/store/etcd"
)

// The etcd servers of these tests are processes of their own, so that they can be killed and stopped: this test,
// started again, doing what etcd's own main would do.
const serveVariable = "GANGRUN_TEST_ETCD_SERVER"

func TestMain(m *testing.M) {
	if spec := os.Getenv(serveVariable); spec != "" {
		if err := serve(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// server is one member of a cluster.
type server struct {
	Name, Dir, Client, Peer string
	Cluster                 string // name=peer,…
	CA, Cert, Key           string // TLS for clients, with certificates on both sides
	TokenTTL                uint

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
	c.LogLevel = "error"
	if s.CA != "" {
		c.ClientTLSInfo.TrustedCAFile, c.ClientTLSInfo.CertFile, c.ClientTLSInfo.KeyFile = s.CA, s.Cert, s.Key
		c.ClientTLSInfo.ClientCertAuth = true
	}
	if s.TokenTTL > 0 {
		c.AuthTokenTTL = s.TokenTTL
	}
	c.BcryptCost = 4
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

// cluster is a cluster of servers, all of which end with the test.
type cluster struct {
	t       *testing.T
	servers []*server
}

func newCluster(t *testing.T, size int, change func(*server)) *cluster {
	t.Helper()
	c := &cluster{t: t}
	var peers []string
	for i := range size {
		s := &server{Name: fmt.Sprintf("m%d", i), Client: "http://" + freeAddr(t), Peer: "http://" + freeAddr(t)}
		s.Dir = filepath.Join(t.TempDir(), s.Name)
		peers = append(peers, s.Name+"="+s.Peer)
		c.servers = append(c.servers, s)
	}
	for _, s := range c.servers {
		s.Cluster = strings.Join(peers, ",")
		if change != nil {
			change(s)
		}
	}
	t.Cleanup(func() {
		for _, s := range c.servers {
			c.kill(s)
		}
	})
	c.start(c.servers...)
	return c
}

// freeAddr returns an address that nobody listens on. It is not one of those that outgoing connections get.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(15000+rand.N(15000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no free port")
	return ""
}

// start starts servers and waits until they are ready.
func (c *cluster) start(servers ...*server) {
	c.t.Helper()
	ready := make(chan error, len(servers))
	for _, s := range servers {
		spec, err := json.Marshal(s)
		if err != nil {
			c.t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), serveVariable+"="+string(spec))
		cmd.Stderr = c.t.Output()
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := cmd.StdoutPipe()
		if err != nil {
			c.t.Fatal(err)
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
			c.t.Fatal(err)
		}
		s.process, s.ended = cmd.Process, ended
	}
	for range servers {
		select {
		case err := <-ready:
			if err != nil {
				c.t.Fatal(err)
			}
		case <-time.After(time.Minute):
			c.t.Fatal("the etcd servers are not ready")
		}
	}
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

func (c *cluster) pause(s *server)  { c.signal(s, syscall.SIGSTOP) }
func (c *cluster) resume(s *server) { c.signal(s, syscall.SIGCONT) }

func (c *cluster) signal(s *server, sig syscall.Signal) {
	c.t.Helper()
	if err := s.process.Signal(sig); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) endpoints() []string {
	var all []string
	for _, s := range c.servers {
		all = append(all, s.Client)
	}
	return all
}

// client is etcd's own client, for what an administrator does.
func (c *cluster) client() *clientv3.Client {
	c.t.Helper()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: c.endpoints(), DialTimeout: 10 * time.Second, Logger: etcd.Zap(nil),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { client.Close() })
	return client
}

// config is a Config for a job of this cluster.
func (c *cluster) config(job string) etcd.Config {
	return etcd.Config{Endpoints: c.endpoints(), Namespace: "test", Job: job, Log: testLog(c.t)}
}

func (c *cluster) open(job string) *etcd.Store {
	c.t.Helper()
	return open(c.t, c.config(job))
}

func open(t *testing.T, c etcd.Config) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
