package etcdserver

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// Others are etcds of other releases, as programs: each that GANGRUN_TEST_ETCD names, a list with colons between, as
// Debian 12's 3.4.23, whose progress answers overtake events; and with GANGRUN_TEST_LONG=1 those of the releases
// before the linked one, which are built here from etcd's own main.
func Others(t *testing.T) []string {
	t.Helper()
	programs := filepath.SplitList(os.Getenv("GANGRUN_TEST_ETCD"))
	if os.Getenv("GANGRUN_TEST_LONG") != "" {
		programs = append(programs, build(t, "etcd35"), build(t, "etcd36"))
	}
	return programs
}

// build builds an etcd server of another release, which has a module of its own.
func build(t *testing.T, module string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), module)
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir = filepath.Join(harness.Root(), "rendezvous", "agent", "realstores", module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", module, err, out)
	}
	return program
}

// flags are what a program of etcd's own is told.
func (s *Server) flags() []string {
	flags := []string{
		"--name", s.Name, "--data-dir", s.Dir, "--initial-cluster", s.Cluster, "--log-level", "error", "--bcrypt-cost", "4",
		"--listen-client-urls", s.Client, "--advertise-client-urls", s.Client,
		"--listen-peer-urls", s.Peer, "--initial-advertise-peer-urls", s.Peer,
		"--quota-backend-bytes", strconv.FormatInt(s.Quota, 10),
	}
	if s.CA != "" {
		flags = append(flags, "--client-cert-auth", "--trusted-ca-file", s.CA, "--cert-file", s.Cert, "--key-file", s.Key)
	}
	return flags
}

// await waits until the program is ready.
func (s *Server) await() error {
	ours := &tls.Config{InsecureSkipVerify: true}
	if s.CA != "" {
		pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
		if err != nil {
			return err
		}
		ours.Certificates = []tls.Certificate{pair}
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: ours, DisableKeepAlives: true}, Timeout: limit}
	for until := time.Now().Add(limit); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		answer, err := client.Get(s.Client + "/health")
		if err != nil {
			continue
		}
		body, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK && strings.Contains(string(body), "true") {
			return nil
		}
	}
	return fmt.Errorf("%s is not ready", s.Name)
}
