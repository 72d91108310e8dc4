package embedded_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/embedded"
	"github.com/gangrun/gangrun/rendezvous/store/etcd"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
	"github.com/gangrun/gangrun/test/harness/testca"
)

func start(t *testing.T) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(t.Context(), embedded.Config{Listen: "127.0.0.1:0", Dir: t.TempDir(), Log: log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func log(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func remote(t *testing.T, addr, job string) store.Store {
	t.Helper()
	s, err := etcd.Open(t.Context(), etcd.Config{Endpoints: []string{addr}, Namespace: "test", Job: job, Log: log(t)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWithin(t *testing.T) {
	t.Parallel()
	server := start(t)
	storetest.Run(t, func(t *testing.T, job string) store.Store {
		s, err := server.Store(t.Context(), "test", job)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestFromOutside(t *testing.T) {
	t.Parallel()
	server := start(t)
	storetest.Run(t, func(t *testing.T, job string) store.Store { return remote(t, server.Addr(), job) })
}

func TestInUse(t *testing.T) {
	t.Parallel()
	server := start(t)
	_, err := embedded.Start(t.Context(), embedded.Config{Listen: server.Addr(), Dir: t.TempDir()})
	if !errors.Is(err, store.ErrInUse) {
		t.Errorf("%v, want %v", err, store.ErrInUse)
	}
	_, err = embedded.Start(t.Context(), embedded.Config{Listen: "192.0.2.1:1", Dir: t.TempDir()})
	if err == nil || errors.Is(err, store.ErrInUse) {
		t.Errorf("an address of another machine: %v", err)
	}
}

func TestNoDirectory(t *testing.T) {
	t.Parallel()
	_, err := embedded.Start(t.Context(), embedded.Config{Listen: "127.0.0.1:0", Dir: filepath.Join(t.TempDir(), "none")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestRestart: the clients of a server that is gone find out that the next one at its place is another one.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := embedded.Start(t.Context(), embedded.Config{Listen: "127.0.0.1:0", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := remote(t, first.Addr(), "job")
	defer s.Close()
	l := storetest.Join(t, s, 2*time.Second)
	view := storetest.Follow(t, s, "")
	before := storetest.Commit(t, s, store.Txn{
		Then: []store.Op{store.PutLeased("nodes/a", nil, l), store.Put("job", []byte("1"))},
	})
	view.Until("the job", func() bool { return view.Rev >= before.Rev })
	first.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	if _, err := s.Commit(t.Context(), store.Txn{}); !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("without a server: %v", err)
	}

	second, err := embedded.Start(t.Context(), embedded.Config{Listen: first.Addr(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	other := remote(t, second.Addr(), "job")
	defer other.Close()
	for range 20 { // beyond the old revisions
		storetest.Commit(t, other, store.Txn{Then: []store.Op{store.Put("job", []byte("2"))}})
	}
	view.Until("the new state", func() bool { return view.Resets == 2 && view.Text() == "job=2" })
	if view.Token == before.Token {
		t.Error("the token is the same")
	}
	storetest.Wait(t, "word of the lost lease", l.Lost())
	if _, err := s.Commit(t.Context(), store.Txn{If: []store.Cond{store.Absent("nodes/a")}}); err != nil {
		t.Errorf("a commit after all that: %v", err)
	}
}

// TestCloseWithClients: clients with streams do not hold the server up, and it leaves nothing behind.
func TestCloseWithClients(t *testing.T) {
	t.Parallel()
	server := start(t)
	s := remote(t, server.Addr(), "job")
	defer s.Close()
	storetest.Join(t, s, 5*time.Second)
	view := storetest.Follow(t, s, "")
	view.Until("the start", func() bool { return view.Resets == 1 })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { server.Close(); close(ended) }()
	storetest.Wait(t, "end of the server", ended)
	stop()
	<-ctx.Done()
	try, err := net.Listen("tcp", server.Addr())
	if err != nil {
		t.Fatalf("the address is still taken: %v", err)
	}
	try.Close()
}

// TestSweep: what a killed gangrun left is removed, what lives is not.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left := filepath.Join(dir, "gangrun-store-1")
	if err := os.MkdirAll(filepath.Join(left, "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "checkpoint"), 0o700); err != nil {
		t.Fatal(err)
	}
	for want := 2; want <= 3; want++ {
		s, err := embedded.Start(t.Context(), embedded.Config{Listen: "127.0.0.1:0", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if found, _ := os.ReadDir(dir); len(found) != want {
			t.Errorf("%v, want %d directories", found, want)
		}
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", left, err)
	}
}

// TestItListensAtItsAddressOnly: another address of the same machine reaches nothing.
func TestItListensAtItsAddressOnly(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(start(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	if c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.2", port), time.Second); err == nil {
		c.Close()
		t.Error("it listens at every address of the machine")
	}
}

// secret is a file of one line.
func secret(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestStrangers: who does not know the token, or has no certificate, reads nothing and writes nothing; who does is
// served as ever, and so is the host.
func TestStrangers(t *testing.T) {
	t.Parallel()
	ours, theirs := testca.New(t, "ours"), testca.New(t, "theirs")
	cert, key := ours.Issue(t, "node")
	otherCert, otherKey := theirs.Issue(t, "stranger")
	right := secret(t, "correct horse")
	for name, tc := range map[string]struct {
		server  embedded.Config
		friend  etcd.Config
		strange []etcd.Config
		kind    error
	}{
		"a token": {
			server: embedded.Config{TokenFile: right}, friend: etcd.Config{TokenFile: right}, kind: store.ErrDenied,
			strange: []etcd.Config{{}, {TokenFile: secret(t, "wrong horse")}},
		},
		"certificates": {
			server: embedded.Config{CA: ours.File, Cert: cert, Key: key}, kind: store.ErrTLS,
			friend:  etcd.Config{CA: ours.File, Cert: cert, Key: key},
			strange: []etcd.Config{{}, {CA: ours.File}, {CA: ours.File, Cert: otherCert, Key: otherKey}, {CA: theirs.File, Cert: cert, Key: key}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.server.Listen, tc.server.Dir, tc.server.Log = "127.0.0.1:0", t.TempDir(), log(t)
			server, err := embedded.Start(t.Context(), tc.server)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			host, err := server.Store(t.Context(), "test", "job")
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			open := func(c etcd.Config) (*etcd.Store, error) {
				c.Endpoints, c.Namespace, c.Job, c.Log = []string{server.Addr()}, "test", "job", log(t)
				return etcd.Open(t.Context(), c)
			}
			for i, c := range tc.strange {
				if s, err := open(c); !errors.Is(err, tc.kind) {
					t.Errorf("stranger %d: %v, want %v", i, err, tc.kind)
					if err == nil {
						s.Close()
					}
				} else if strings.Contains(err.Error(), "horse") {
					t.Errorf("it tells the token: %v", err)
				}
			}
			friend, err := open(tc.friend)
			if err != nil {
				t.Fatal(err)
			}
			defer friend.Close()
			l := storetest.Join(t, friend, 2*time.Second)
			view := storetest.Follow(t, host, "")
			storetest.Commit(t, friend, store.Txn{Then: []store.Op{store.PutLeased("nodes/a", nil, l)}})
			view.Until("the node", func() bool { return view.Text() == "nodes/a=" })
			far := storetest.Follow(t, friend, "")
			far.Until("the node, from outside", func() bool { return far.Text() == "nodes/a=" })
		})
	}
	for name, c := range map[string]embedded.Config{
		"no token":       {TokenFile: filepath.Join(t.TempDir(), "none")},
		"no certificate": {Cert: filepath.Join(t.TempDir(), "none"), Key: key, CA: ours.File},
	} {
		c.Listen, c.Dir = "127.0.0.1:0", t.TempDir()
		if _, err := embedded.Start(t.Context(), c); !errors.Is(err, store.ErrSettings) {
			t.Errorf("%s: %v, want %v", name, err, store.ErrSettings)
		}
	}
}
