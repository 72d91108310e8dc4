package rounds_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/testca"
)

// hostedParty is a job of that many nodes without an etcd: the store is within one of them, at the given address.
func hostedParty(t *testing.T, nodes string, backend string) (p *party, addr string) {
	t.Helper()
	addr = freeAddr(t)
	p = newParty(t, "--nnodes", nodes, "--job", jobName(t), "--max-restarts", "3", "--restart-backoff", "1ms:2ms")
	p.mode = "launch"
	switch backend {
	case "c10d":
		p.flags = append(p.flags, "--rdzv-backend", "c10d", "--rdzv-endpoint", addr)
	case "static":
		_, port, _ := net.SplitHostPort(addr)
		p.flags = append(p.flags, "--master-addr", "127.0.0.1", "--store-port", port)
	}
	return p, addr
}

// TestNoStore meets at the endpoint that torchrun's own flags name.
func TestNoStore(t *testing.T) {
	for _, backend := range []string{"c10d", "static"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			p, _ := hostedParty(t, "2", backend)
			var nodes []*node
			_, port, _ := net.SplitHostPort(freeAddr(t))
			for i := range 2 {
				var flags []string
				if backend == "static" {
					flags = []string{"--node-rank", fmt.Sprint(1 - i), "--master-port", port}
				}
				nodes = append(nodes, p.start(fmt.Sprint("n", i), flags...))
			}
			first := p.round(0, 2)
			if backend == "static" {
				p.is(first, "n1", "n0")
				if first[0].Port != port {
					t.Errorf("the master's port is %s, asked for was %s", first[0].Port, port)
				}
			}
			first[0].Do("kill 9")
			second := p.round(1, 2)
			p.is(second, names(first)...)
			if second[0].Port == first[0].Port {
				t.Errorf("both rounds meet at port %s", second[0].Port)
			}
			finish(second)
			for _, e := range p.all(nodes, succeeded) {
				for line := range strings.Lines(e.Stderr) { // what etcd itself has to say is for debugging
					if strings.Contains(line, "level=WARN") || strings.Contains(line, "etcd: ") {
						t.Errorf("%s: %s", e.Node, line)
					}
				}
			}
		})
	}
}

// TestPortOfAnotherJob has a second job meet at the port at which a first one does: it would lose its store with the first job's end, so
// it waits for that, and then begins.
func TestPortOfAnotherJob(t *testing.T) {
	t.Parallel()
	p, addr := hostedParty(t, "2", "c10d")
	nodes := []*node{p.start("n0"), p.start("n1")}
	first := p.round(0, 2)
	q := newParty(t, "--nnodes", "2", "--job", jobName(t)+"-too", "--rdzv-backend", "c10d", "--rdzv-endpoint", addr)
	q.mode = "launch"
	later := []*node{q.start("n2"), q.start("n3")}
	for _, n := range later {
		n.Await("this one waits until that has ended")
	}
	if n := q.started(); n != 0 {
		t.Errorf("%d workers of the second job run in the first one's store", n)
	}
	finish(first)
	p.all(nodes, succeeded)
	finish(q.round(0, 2))
	q.all(later, succeeded)
}

// TestHostIsReplaced kills the node that has the store, and starts another under its name. The job continues with what
// the other nodes remember of it.
func TestHostIsReplaced(t *testing.T) {
	t.Parallel()
	p, addr := hostedParty(t, "3", "c10d")
	p.flags = append(p.flags, "--fence-timeout", "16s", "--restart-grace", "1s")
	host := p.start("n0")
	listens(t, addr)
	others := []*node{p.start("n1"), p.start("n2")}
	first := p.round(0, 3)
	first[1].Do("kill 9")
	second := p.round(1, 3)
	p.is(second, names(first)...)
	p.kill(host)
	others = append(others, p.start("n0"))
	for _, n := range others[:2] { // whoever leads now
		n.Await("nodes that knew the one before may run until")
	}
	third := p.round(2, 3)
	p.is(third, names(second)...)
	finish(third)
	for _, e := range p.all(others, succeeded) {
		if *e.Round != 2 || e.Restarts.Used < 1 {
			t.Errorf("%s ends in round %d, restarts %+v; the budget was not kept", e.Node, *e.Round, *e.Restarts)
		}
	}
}

// TestHostIsLost kills the node that has the store, and nobody takes its place. The workers of the others stop in time,
// and the nodes leave when they have waited long enough.
func TestHostIsLost(t *testing.T) {
	t.Parallel()
	p, addr := hostedParty(t, "2", "c10d")
	p.flags = append(p.flags, "--fence-timeout", "16s", "--restart-grace", "1s", "--store-timeout", "3s")
	host := p.start("n0")
	listens(t, addr)
	other := p.start("n1")
	workers := p.round(0, 2)
	p.kill(host)
	p.stopped(of(workers, "n1"))
	for _, e := range p.all([]*node{other}, end{213, exitcodes.Retry, "StoreLost"}) {
		if want := "the store within gangrun at " + addr + ", on another node"; !strings.Contains(e.Message.Message, want) {
			t.Errorf("it does not say %q: %s", want, e.Raw)
		}
	}
}

// TestHostIsPreempted asks the node that has the store to stop, and starts it again. That is nobody's failure.
func TestHostIsPreempted(t *testing.T) {
	t.Parallel()
	p, addr := hostedParty(t, "2", "c10d")
	p.flags = append(p.flags, "--fence-timeout", "16s", "--restart-grace", "1s")
	host := p.start("n0")
	listens(t, addr)
	nodes := []*node{p.start("n1")}
	first := p.round(0, 2)
	host.Signal(syscall.SIGTERM)
	p.all([]*node{host}, preempted)
	nodes = append(nodes, p.start("n0"))
	second := p.round(1, 2)
	p.is(second, names(first)...)
	finish(second)
	for _, e := range p.all(nodes, succeeded) {
		if e.Restarts.Used != 0 || e.Restarts.Preemptions != 1 {
			t.Errorf("%s ends with restarts %+v", e.Node, *e.Restarts)
		}
	}
}

// TestSuspendWithoutAnEtcd suspends a job whose store goes with it. (Whoever asked for it hears that it was done, unless the
// store is gone first.)
func TestSuspendWithoutAnEtcd(t *testing.T) {
	t.Parallel()
	p, addr := hostedParty(t, "2", "c10d")
	host := p.start("n0")
	listens(t, addr)
	nodes := []*node{host, p.start("n1")}
	p.round(0, 2)
	status := harness.Run(t, limit, nil, harness.Binary(t), "status", "--endpoint", addr) // of the only one there
	if status.Code != 0 || !strings.HasPrefix(status.Stdout, "job "+jobName(t)+": ") {
		t.Errorf("status: exit code %d, %q, %q", status.Code, status.Stdout, status.Stderr)
	}
	res := harness.Run(t, limit, nil, harness.Binary(t), "suspend", "--endpoint", addr)
	if !strings.HasPrefix(res.Stdout, "suspend: ") && !strings.Contains(res.Stderr, "the command was left") {
		t.Errorf("exit code %d, %q, %q", res.Code, res.Stdout, res.Stderr)
	}
	for _, e := range p.all(nodes, end{143, exitcodes.Suspended, exitcodes.ReasonSuspended}) {
		if strings.Contains(e.Stderr, "level=ERROR") {
			t.Errorf("%s takes it for an error: %s", e.Node, e.Stderr)
		}
	}
}

// TestNoDirectoryForTheStore cannot start a store, now or later: it does not wait for one.
func TestNoDirectoryForTheStore(t *testing.T) {
	t.Parallel()
	p, _ := hostedParty(t, "2", "c10d")
	e := p.start("n0", "--store-dir", t.TempDir()+"/nowhere").End()
	if e.Code != 64 || e.Reason != "BadConfig" || !strings.Contains(e.Message.Message, "--store-dir") {
		t.Errorf("exit code %d: %s\n%s", e.Code, e.Raw, e.Stderr)
	}
}

// TestStrangersAtTheStore runs a job whose store within gangrun asks for a token and for certificates. Who has both is
// a node of it or steers it; who lacks one of them is told so at once.
func TestStrangersAtTheStore(t *testing.T) {
	t.Parallel()
	authority := testca.New(t, "ours")
	cert, key := authority.Issue(t, "node")
	token := t.TempDir() + "/token"
	if err := os.WriteFile(token, []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, addr := hostedParty(t, "2", "c10d")
	certificates := []string{"--store-ca", authority.File, "--store-cert", cert, "--store-key", key}
	known := append([]string{"--store-token-file", token}, certificates...)
	host := p.start("n0", known...)
	listens(t, addr)
	refused := end{64, exitcodes.Fatal, "BadConfig"}
	for i, flags := range [][]string{nil, certificates, {"--store-token-file", token}} {
		for _, e := range p.all([]*node{p.start(fmt.Sprint("stranger", i), flags...)}, refused) {
			if strings.Contains(e.Stderr, "horse") || bytes.Contains(e.Raw, []byte("horse")) {
				t.Error("the token is told")
			}
		}
	}
	nodes := []*node{host, p.start("n1", known...)}
	p.round(0, 2)
	command := func(flags ...string) harness.Result {
		return harness.Run(t, limit, nil, slices.Concat([]string{harness.Binary(t), "restart", jobName(t), "--endpoint", addr}, flags)...)
	}
	if res := command(certificates...); res.Code != 64 || !strings.Contains(res.Stderr, "--store-token-file") {
		t.Errorf("gangrun restart without the token: exit code %d, %q", res.Code, res.Stderr)
	}
	if res := command(known...); res.Code != 0 {
		t.Errorf("gangrun restart: exit code %d, %q", res.Code, res.Stderr)
	}
	finish(p.round(1, 2))
	p.all(nodes, succeeded)
}

// listens waits until somebody listens at the address.
func listens(t *testing.T, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", addr)
		if err == nil {
			c.Close()
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("nobody listens at %s: %v", addr, err)
		}
	}
}
