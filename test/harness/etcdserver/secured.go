package etcdserver

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/rendezvous/store/etcd"
	"github.com/gangrun/gangrun/test/harness/testca"
)

// Secured makes servers that speak TLS only, and ask for a certificate: a change of a cluster at 127.0.0.1.
func Secured(t testing.TB) (change func(*Server)) {
	t.Helper()
	authority := testca.New(t, "ours")
	cert, key := authority.Issue(t, "server")
	return func(s *Server) {
		s.Client = strings.Replace(s.Client, "http://", "https://", 1)
		s.CA, s.Cert, s.Key, s.TokenTTL = authority.File, cert, key, 2
	}
}

// AskPassword has a cluster that is secured ask for a password, too, and returns files with what gets in.
func (c *Cluster) AskPassword(t testing.TB) (user, password string) {
	t.Helper()
	s := c.Servers[0]
	pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := clientv3.New(clientv3.Config{
		Endpoints: c.Endpoints(), DialTimeout: limit, Logger: etcd.Zap(nil),
		TLS: &tls.Config{Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	_, err = admin.UserAdd(t.Context(), "root", "right")
	if err == nil {
		_, err = admin.UserGrantRole(t.Context(), "root", "root")
	}
	if err == nil {
		_, err = admin.AuthEnable(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write("user", "root"), write("password", "right")
}
