package kubelet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/kubelet"
)

// limit is far more than anything here takes.
const limit = 30 * time.Second

// shell is a container with a shell script.
func shell(script string) kubelet.Container {
	return kubelet.Container{Name: "main", Command: []string{"sh", "-c", script}}
}

// alone is a pod of one container.
func alone(name string, c kubelet.Container) kubelet.Pod {
	return kubelet.Pod{Name: name, Containers: []kubelet.Container{c}, RestartPolicy: kubelet.Never}
}

// end waits for the end of the pod and of its first container.
func end(t *testing.T, p *kubelet.Started) kubelet.Terminated {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(limit):
		t.Fatalf("pod %s still runs:\n%s", p.Pod.Name, p.Output())
	}
	return *p.Status().Containers[0].Terminated
}

// until waits until a pod's status is as wanted.
func until(t *testing.T, c *kubelet.Cluster, what string, ok func() bool) {
	t.Helper()
	for late := time.After(limit); ; {
		changed := c.Changed()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatal("never: ", what)
		}
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	c := kubelet.New(t)
	for _, test := range []struct {
		name, script string
		memory       int64
		code         int
		reason       string
		phase        kubelet.Phase
	}{
		{"success", `exit 0`, 0, 0, "Completed", kubelet.Succeeded},
		{"failure", `exit 3`, 0, 3, "Error", kubelet.Failed},
		{"signal", `sh -c 'kill -9 $$'`, 0, 137, "Error", kubelet.Failed},
		{"memory", `exec python3 -c 'b"x" * (1 << 28)'`, 64 << 20, 137, "OOMKilled", kubelet.Failed},
		{"enough memory", `exit 0`, 64 << 20, 0, "Completed", kubelet.Succeeded},
		{"no such program", `exec /nowhere`, 0, 127, "Error", kubelet.Failed},
	} {
		main := shell(test.script)
		main.Memory = test.memory
		p := c.Start(alone("p", main))
		e := end(t, p)
		if e.ExitCode != test.code || e.Reason != test.reason || p.Status().Phase != test.phase {
			t.Errorf("%s: %+v, %s\n%s", test.name, e, p.Status().Phase, p.Output())
		}
		if e.StartedAt.IsZero() || e.FinishedAt.Before(e.StartedAt) {
			t.Errorf("%s: from %v to %v", test.name, e.StartedAt, e.FinishedAt)
		}
	}
}

// TestSurroundings is about what a container finds around it.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	c := kubelet.New(t)
	dir := t.TempDir()
	for name, test := range map[string]struct {
		script string
		change func(*kubelet.Container)
	}{
		"the first process":     {`test $$ = 1`, nil},
		"gangrun":               {`gangrun --version`, nil},
		"host name":             {`test "$(hostname) $HOSTNAME" = "p p"`, nil},
		"a directory for files": {`touch /tmp/x`, nil},
		"a root to write to":    {`touch /x`, nil},
		"a root only to read":   {`! touch /x && touch /tmp/x`, func(c *kubelet.Container) { c.ReadOnlyRoot = true }},
		"user":                  {`test $(id -u) = 1000 && echo x > /dev/termination-log`, func(c *kubelet.Container) { c.User = 1000 }},
		"variables":             {`test "$A$B" = 32`, func(c *kubelet.Container) { c.Env = []string{"A=1", "B=2", "A=3"} }},
		"working directory":     {`test $PWD = /usr`, func(c *kubelet.Container) { c.WorkingDir = "/usr" }},
		"arguments":             {`test "$0 $1" = "a b"`, func(c *kubelet.Container) { c.Args = []string{"a", "b"} }},
		"a volume":              {`touch /data/deep/x`, func(c *kubelet.Container) { c.Mounts = []kubelet.Mount{{Host: dir, Path: "/data/deep"}} }},
		"a volume only to read": {`! touch /data/x`, func(c *kubelet.Container) { c.Mounts = []kubelet.Mount{{Host: dir, Path: "/data", ReadOnly: true}} }},
	} {
		main := shell(test.script)
		if test.change != nil {
			test.change(&main)
		}
		p := c.Start(alone("p", main))
		if e := end(t, p); e.ExitCode != 0 {
			t.Errorf("%s: %+v\n%s", name, e, p.Output())
		}
	}
	if _, err := os.Stat(filepath.Join(harness.Peer(t, "rootfs"), "data")); err == nil {
		t.Error("the root filesystem that all share was changed")
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err != nil {
		t.Error("what was written to the volume is not there: ", err)
	}
}

// TestMessage is what the kubelet makes of a termination log: the last 4096 bytes, of which each container may keep its
// share of 12 KiB.
func TestMessage(t *testing.T) {
	t.Parallel()
	c := kubelet.New(t)
	// The numbers from 1 on, five bytes each: 5000 in all.
	const script = `i=1000; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); done > /dev/termination-log`
	one := c.Start(alone("one", shell(script)))
	if m := end(t, one).Message; len(m) != 4096 || !strings.HasSuffix(m, "1998\n1999\n") {
		t.Errorf("%d bytes: %q", len(m), m)
	}
	main := shell(script)
	many := kubelet.Pod{Name: "many", RestartPolicy: kubelet.Never, Containers: []kubelet.Container{main}}
	for range 5 {
		many.Containers = append(many.Containers, shell("exit 0"))
	}
	if m := end(t, c.Start(many)).Message; len(m) != 2048 || !strings.HasSuffix(m, "1589\n15") {
		t.Errorf("of six containers: %d bytes: %q", len(m), m)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	c := kubelet.New(t)
	obedient := c.Start(alone("obedient", shell(`trap 'exit 5' TERM; echo ready; while :; do sleep 0.1; done`)))
	obedient.Await("ready")
	obedient.Delete()
	if e := end(t, obedient); e.ExitCode != 5 {
		t.Errorf("%+v", e)
	}
	stubborn := alone("stubborn", shell(`trap '' TERM; echo ready; while :; do sleep 0.1; done`))
	stubborn.GracePeriod = 2 * time.Second
	stubborn.RestartPolicy = kubelet.Always
	p := c.Start(stubborn)
	p.Await("ready")
	started := time.Now()
	p.Delete()
	if e := end(t, p); e.ExitCode != 137 || time.Since(started) < stubborn.GracePeriod {
		t.Errorf("%+v after %v", e, time.Since(started))
	}
	if n := p.Status().Containers[0].RestartCount; n != 0 {
		t.Errorf("the container of the deleted pod was started again %d times", n)
	}
	stubborn.GracePeriod = time.Hour
	p = c.Start(stubborn)
	p.Await("ready")
	p.Delete()
	p.Kill()
	if e := end(t, p); e.ExitCode != 137 || p.Status().Phase != kubelet.Failed {
		t.Errorf("%+v", e)
	}
}

// TestRestart restarts a container in its pod: everything of it is new, but not the pod's address.
func TestRestart(t *testing.T) {
	t.Parallel()
	c := kubelet.New(t)
	main := shell(`n=$(ls /data | wc -l); touch /data/$n /tmp/x; ls /tmp | wc -l >> /data/0; cat /dev/termination-log
		echo instance $n > /dev/termination-log; test $n = 2`)
	main.Mounts = []kubelet.Mount{{Host: t.TempDir(), Path: "/data"}}
	pod := alone("p", main)
	pod.RestartPolicy = kubelet.OnFailure
	p := c.Start(pod)
	e, s := end(t, p), p.Status()
	if e.ExitCode != 0 || e.Message != "instance 2\n" || s.Phase != kubelet.Succeeded || p.Output() != "" {
		t.Errorf("%+v, %s, %q", e, s.Phase, p.Output())
	}
	if last := s.Containers[0]; last.RestartCount != 2 || last.Last.ExitCode != 1 || last.Last.Message != "instance 1\n" {
		t.Errorf("%+v", last)
	}
	raw, err := os.ReadFile(filepath.Join(main.Mounts[0].Host, "0"))
	if err != nil || strings.Join(strings.Fields(string(raw)), " ") != "1 1 1" {
		t.Errorf("files that outlived an instance: %q, %v", raw, err)
	}
}

// TestNetwork lets pods find and reach each other by the names that a cluster gives them.
func TestNetwork(t *testing.T) {
	t.Parallel()
	c := kubelet.New(t)
	serve := `import socket; s = socket.create_server(("", 80)); print("serving", flush=True)
while True: s.accept()[0].sendall(socket.gethostname().encode())`
	server := kubelet.Container{Name: "main", Command: []string{"python3", "-c", serve}}
	pod := alone("j-master-0", server)
	pod.Subdomain = "j"
	master := c.Start(pod)
	master.Await("serving")
	ask := `import socket, sys
for name in sys.argv[1:]:
	try: print(name, socket.create_connection((name, 80), 2).recv(99).decode())
	except OSError as e: print(name, type(e).__name__)`
	asked := func(names ...string) string {
		p := c.Start(alone("client", kubelet.Container{Name: "main", Command: append([]string{"python3", "-c", ask}, names...)}))
		end(t, p)
		return p.Output()
	}
	c.Service("j-master-0", master)
	names := []string{"j-master-0", "j-master-0.default.svc", "j-master-0.default.svc.cluster.local", "j-master-0.j", master.Status().IP}
	for _, name := range names {
		if got := asked(name); got != name+" j-master-0\n" {
			t.Errorf("%q", got)
		}
	}
	if got := asked("j-worker-0", "j-master-0.other.svc"); got != "j-worker-0 gaierror\nj-master-0.other.svc gaierror\n" {
		t.Errorf("%q", got)
	}
	if got := asked(c.Host()); got != c.Host()+" ConnectionRefusedError\n" {
		t.Errorf("this machine: %q", got)
	}
	master.Cut()
	if got := asked("j-master-0"); strings.HasSuffix(got, " j-master-0\n") || strings.HasSuffix(got, "gaierror\n") {
		t.Errorf("a pod that is cut off: %q", got)
	}
	master.Heal()
	if got := asked("j-master-0"); got != "j-master-0 j-master-0\n" {
		t.Errorf("a pod that was cut off: %q", got)
	}
	master.Lose()
	<-master.Done()
	if got := asked("j-master-0"); got != "j-master-0 gaierror\n" {
		t.Errorf("a pod that is gone: %q", got)
	}
	replacement := c.Start(pod)
	replacement.Await("serving")
	c.Service("j-master-0", replacement)
	if got := asked("j-master-0"); got != "j-master-0 j-master-0\n" || replacement.Status().IP == master.Status().IP {
		t.Errorf("a replacement: %q", got)
	}
	c.Service("j-master-0")
	if got := asked("j-master-0"); got != "j-master-0 gaierror\n" {
		t.Errorf("a service that is gone: %q", got)
	}
}

// TestChanged follows a pod through its life.
func TestChanged(t *testing.T) {
	t.Parallel()
	c := kubelet.New(t)
	main := shell(`until test -e /data/end; do sleep 0.05; done`)
	main.Mounts = []kubelet.Mount{{Host: t.TempDir(), Path: "/data"}}
	p := c.Start(alone("p", main))
	until(t, c, "running", func() bool {
		s := p.Status()
		return s.Phase == kubelet.Running && s.Containers[0].Running()
	})
	if err := os.WriteFile(filepath.Join(main.Mounts[0].Host, "end"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	until(t, c, "succeeded", func() bool { return p.Status().Phase == kubelet.Succeeded })
}
