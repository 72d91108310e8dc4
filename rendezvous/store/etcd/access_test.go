package etcd_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/etcd"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
	"github.com/gangrun/gangrun/test/harness/testca"
)

const password = "correct horse"

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// refused tries to open and wants one kind of error, which names all of the texts, on one line, without the password.
func refused(t *testing.T, c etcd.Config, kind error, texts ...string) {
	t.Helper()
	s, err := etcd.Open(t.Context(), c)
	if err == nil {
		s.Close()
		t.Fatal("no error")
	}
	t.Log(err)
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("want %v", kind)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("want it to name %q", text)
		}
	}
	if len(c.Endpoints) == 1 && strings.Count(err.Error(), "http://"+c.Endpoints[0]) > 1 {
		t.Error("it names the place twice")
	}
	if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "horse") {
		t.Error("want one line, and no password")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	ok := etcd.Config{Endpoints: []string{"127.0.0.1:1"}, Namespace: "ns", Job: "job"}
	notPEM := file(t, "ca", "not PEM")
	for _, tt := range []struct {
		name   string
		change func(*etcd.Config)
		want   string
	}{
		{"no endpoint", func(c *etcd.Config) { c.Endpoints = nil }, "endpoint"},
		{"no job", func(c *etcd.Config) { c.Job = "" }, "job"},
		{"scheme", func(c *etcd.Config) { c.Endpoints = []string{"ftp://host"} }, "ftp://host"},
		{"path", func(c *etcd.Config) { c.Endpoints = []string{"http://host/etcd"} }, "http://host/etcd"},
		{"user in the URL", func(c *etcd.Config) { c.Endpoints = []string{"http://me:correct horse@host"} }, "files"},
		{"mixed", func(c *etcd.Config) { c.Endpoints = []string{"http://a", "https://b"} }, "https"},
		{"CA without TLS", func(c *etcd.Config) { c.Endpoints = []string{"http://a"}; c.CA = notPEM }, "https"},
		{"CA missing", func(c *etcd.Config) { c.CA = "/nowhere/ca" }, "/nowhere/ca"},
		{"CA not PEM", func(c *etcd.Config) { c.CA = notPEM }, notPEM},
		{"certificate without key", func(c *etcd.Config) { c.Cert = notPEM }, "key"},
		{"bad certificate", func(c *etcd.Config) { c.Cert, c.Key = notPEM, notPEM }, notPEM},
		{"user alone", func(c *etcd.Config) { c.UserFile = notPEM }, "password"},
		{"empty password", func(c *etcd.Config) { c.UserFile, c.PasswordFile = notPEM, file(t, "empty", "\n") }, "empty"},
		{"two passwords", func(c *etcd.Config) {
			c.UserFile, c.PasswordFile = notPEM, file(t, "two", "correct\nhorse\n")
		}, "two"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := ok
			tt.change(&c)
			refused(t, c, store.ErrSettings, tt.want)
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // connects, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	closed, err := etcdserver.FreeAddr("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	conf := etcd.Config{Namespace: "ns", Job: "job", RequestTimeout: time.Second}
	conf.Endpoints = []string{closed}
	refused(t, conf, store.ErrUnreachable, "http://"+closed, "connection refused")
	conf.Endpoints = []string{closed, deaf.Addr().String()}
	refused(t, conf, store.ErrUnreachable, closed, deaf.Addr().String())
	conf.Endpoints = []string{"https://" + deaf.Addr().String()}
	refused(t, conf, store.ErrUnreachable, deaf.Addr().String(), "does not answer")
	conf.Endpoints = []string{deaf.Addr().String()}
	refused(t, conf, store.ErrUnreachable, deaf.Addr().String(), "does not answer")
	conf.Endpoints = []string{"no-such-host.invalid"}
	refused(t, conf, store.ErrUnreachable, "no-such-host.invalid")
	conf.Endpoints = []string{closed}
	conf.UserFile, conf.PasswordFile = file(t, "user", "me"), file(t, "password", password)
	refused(t, conf, store.ErrUnreachable, closed, "connection refused")

	// The caller's own limit is told from the store's silence.
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := etcd.Open(ctx, conf); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestNoMajority: the members that are left answer, and their error says why that does not help.
func TestNoMajority(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, nil)
	s := c.open("job")
	c.Servers[0].Kill()
	c.Servers[1].Kill()
	_, err := s.Commit(t.Context(), store.Txn{Then: []store.Op{store.Put("job", nil)}})
	if !errors.Is(err, store.ErrUnreachable) {
		t.Fatal(err)
	}
	for _, text := range []string{
		c.Servers[0].Client + ": dial tcp", c.Servers[2].Client + ": there, and cannot help",
		"a cluster needs more than half of its members",
	} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("want %q in %v", text, err)
		}
	}
}

func TestPassword(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, func(s *etcdserver.Server) { s.TokenTTL = 1 })
	admin := c.client()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	must(admin.UserAdd(ctx, "root", "root"))
	must(admin.UserGrantRole(ctx, "root", "root"))
	must(admin.RoleAdd(ctx, "team"))
	prefix, _ := store.Prefix("test", "mine")
	must(admin.RoleGrantPermission(ctx, "team", prefix, clientv3.GetPrefixRangeEnd(prefix),
		clientv3.PermissionType(clientv3.PermReadWrite)))
	must(admin.UserAdd(ctx, "me", password))
	must(admin.UserGrantRole(ctx, "me", "team"))
	must(admin.AuthEnable(ctx))

	user, right := file(t, "user", "me\n"), file(t, "password", password+"\n")
	conf := c.config("mine")
	refused(t, conf, store.ErrDenied, c.Servers[0].Client, "user name is empty")
	conf.UserFile, conf.PasswordFile = user, file(t, "password", "wrong horse")
	refused(t, conf, store.ErrDenied, c.Servers[0].Client, "invalid user ID or password")
	conf.PasswordFile = right
	other := conf
	other.Job = "theirs"
	refused(t, other, store.ErrDenied, "permission denied")

	// Its token expires many times in this.
	s, watched := open(t, conf), open(t, conf)
	l := storetest.Join(t, s, 2*time.Second)
	view := storetest.Follow(t, watched, "")
	first := l.Renewed()
	for round := 0; l.Renewed() < first+3*time.Second; round++ {
		last := storetest.Commit(t, s, store.Txn{Then: []store.Op{store.PutLeased("nodes/a", nil, l)}})
		view.Until("the change", func() bool { return view.Rev >= last.Rev })
		view.Watcher.Sync(last.Rev)
		idle := l.Renewed() // long enough for a token that nobody uses
		for l.Renewed() < idle+1500*time.Millisecond {
			select {
			case <-l.Lost():
				t.Fatal("the lease is lost")
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	if view.Resets != 1 {
		t.Errorf("%d resets", view.Resets)
	}

	// What is taken away while it runs.
	root, err := clientv3.New(clientv3.Config{
		Endpoints: c.Endpoints(), Username: "root", Password: "root", Logger: etcd.Zap(nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	must(root.UserRevokeRole(ctx, "me", "team"))
	if _, err := s.Commit(ctx, store.Txn{Then: []store.Op{store.Put("job", nil)}}); !errors.Is(err, store.ErrDenied) {
		t.Errorf("after the role was taken away: %v", err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := testca.New(t, "ours"), testca.New(t, "theirs")
	serverCert, serverKey := ours.Issue(t, "server")
	cert, key := ours.Issue(t, "client")
	otherCert, otherKey := theirs.Issue(t, "client")
	c := newCluster(t, 1, func(s *etcdserver.Server) {
		s.Client = strings.Replace(s.Client, "http://", "https://", 1)
		s.CA, s.Cert, s.Key = ours.File, serverCert, serverKey
	})
	where := c.Servers[0].Client
	conf := c.config("job")
	refused(t, conf, store.ErrTLS, where, "unknown authority")
	conf.CA = theirs.File
	refused(t, conf, store.ErrTLS, where, "unknown authority")
	conf.CA = ours.File
	refused(t, conf, store.ErrTLS, where, "certificate required")
	conf.Cert, conf.Key = otherCert, otherKey
	refused(t, conf, store.ErrTLS, where, "certificate")
	conf.Cert, conf.Key = cert, key
	byName := conf
	byName.Endpoints = []string{strings.Replace(where, "127.0.0.1", "localhost", 1)}
	refused(t, byName, store.ErrTLS, "localhost")
	plain := c.config("job")
	plain.Endpoints = []string{strings.Replace(where, "https", "http", 1)}
	refused(t, plain, store.ErrTLS, plain.Endpoints[0], "https://")

	s := open(t, conf)
	view := storetest.Follow(t, s, "")
	last := storetest.Commit(t, s, store.Txn{Then: []store.Op{store.Put("job", nil)}})
	view.Until("the job", func() bool { return view.Rev >= last.Rev })
}
