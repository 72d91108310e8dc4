package etcdserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
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

	"github.com/gangrun/gangrun/rendezvous/store/etcd"
)

// limit is many times what servers take to start on an idle machine.
const limit = time.Minute

// Server is one member of a cluster.
type Server struct {
	Name, Dir, Client, Peer string // Client and Peer are URLs
	Cluster                 string // name=peer,…
	CA, Cert, Key           string // files for TLS with clients, with certificates on both sides; empty for none
	TokenTTL                uint   // seconds that a login holds; 0 for etcd's own default
	Quota                   int64  // bytes that its data base may have; 0 for etcd's own default
	Program                 string // an etcd of another release, as Others lists them; empty for the linked one

	process *os.Process
	ended   chan struct{}
}

// Cluster is an etcd of some members.
type Cluster struct {
	Servers []*Server
	log     io.Writer // takes the servers' standard error; may be nil
}

// Start starts a cluster of that many members, whose files are in the directory dir, and waits until it is ready.
// Clients reach it at host, an address of this machine. Change, if not nil, has the last word on each server. The
// caller ends the cluster, also after an error.
func Start(dir, host string, members int, change func(*Server)) (*Cluster, error) {
	c := &Cluster{}
	return c, c.begin(dir, host, members, change)
}

// StartFor is Start for one test, which ends the cluster with it.
func StartFor(t testing.TB, host string, members int, change func(*Server)) *Cluster {
	t.Helper()
	c, dir := &Cluster{log: t.Output()}, t.TempDir()
	t.Cleanup(c.End) // before the directory goes
	if err := c.begin(dir, host, members, change); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *Cluster) begin(dir, host string, members int, change func(*Server)) error {
	var peers []string
	for i := range members {
		client, err := FreeAddr(host)
		if err != nil {
			return err
		}
		peer, err := FreeAddr("127.0.0.1")
		if err != nil {
			return err
		}
		s := &Server{Name: fmt.Sprintf("m%d", i), Client: "http://" + client, Peer: "http://" + peer}
		s.Dir = filepath.Join(dir, s.Name)
		peers = append(peers, s.Name+"="+s.Peer)
		c.Servers = append(c.Servers, s)
	}
	for _, s := range c.Servers {
		s.Cluster = strings.Join(peers, ",")
		if change != nil {
			change(s)
		}
	}
	return c.Restart(c.Servers...)
}

// FreeAddr returns an address of that host at which nobody listens. It is not one of those that outgoing connections
// get, nor one that it has returned before: who asked for that may not listen there yet.
func FreeAddr(host string) (string, error) {
	var err error
	for range 100 {
		addr := net.JoinHostPort(host, strconv.Itoa(15000+rand.N(15000)))
		if _, given := givenAddrs.LoadOrStore(addr, true); given {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", addr); err == nil {
			defer l.Close()
			return addr, nil
		}
	}
	return "", err
}

var givenAddrs sync.Map // by FreeAddr

// Restart starts servers that do not run, and waits until they are ready.
func (c *Cluster) Restart(servers ...*Server) error {
	answers := make(chan error, len(servers))
	for _, s := range servers {
		if err := s.start(c.log, answers); err != nil {
			return err
		}
	}
	late := time.After(limit)
	for range servers {
		select {
		case err := <-answers:
			if err != nil {
				return err
			}
		case <-late:
			return fmt.Errorf("the etcd servers are not ready within %v", limit)
		}
	}
	return nil
}

// start starts the server's process. What answers gets is nil once it is ready.
func (s *Server) start(log io.Writer, answers chan<- error) error {
	spec, err := json.Marshal(s)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"="+string(spec))
	if s.Program != "" {
		cmd = exec.Command(s.Program, s.flags()...)
	}
	cmd.Stderr = log
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
		switch lines := bufio.NewScanner(out); {
		case s.Program != "":
			answers <- s.await()
			_, _ = io.Copy(io.Discard, out)
		case lines.Scan() && lines.Text() == ready:
			answers <- nil
			_, _ = io.Copy(io.Discard, out)
		default:
			answers <- fmt.Errorf("%s is not ready: %q", s.Name, lines.Text())
		}
		_ = cmd.Wait()
	}()
	if err := <-started; err != nil {
		return err
	}
	s.process, s.ended = cmd.Process, ended
	return nil
}

// Kill kills the server at once, if it runs.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Kill()
	<-s.ended
	s.process = nil
}

// Pause stops the server, as a machine does that gives it no processor time.
func (s *Server) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) error {
	if s.process == nil {
		return errors.New(s.Name + " does not run")
	}
	return s.process.Signal(sig)
}

// End kills all servers.
func (c *Cluster) End() {
	for _, s := range c.Servers {
		s.Kill()
	}
}

// Endpoints are the URLs at which clients reach the servers.
func (c *Cluster) Endpoints() (all []string) {
	for _, s := range c.Servers {
		all = append(all, s.Client)
	}
	return all
}

// Admin is etcd's own client, for what an administrator does. It is closed when the test ends.
func (c *Cluster) Admin(t testing.TB) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: c.Endpoints(), DialTimeout: 10 * time.Second, Logger: etcd.Zap(nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}
