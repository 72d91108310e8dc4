package procs

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

// TestListeners finds a listener of the test itself, on either family, and no connection.
func TestListeners(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Log(err) // no IPv6 here
			continue
		}
		defer l.Close()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
		want := netip.MustParseAddrPort(l.Addr().String())
		table, err := Read()
		if err != nil {
			t.Fatal(err)
		}
		list, err := table.Listeners(want.Port())
		if err != nil || len(list) != 1 || list[0].Address != want {
			t.Fatalf("%+v, %v, want %v", list, err, want)
		}
		if !table.Sockets(os.Getpid(), 9)[list[0].Inode] {
			t.Error("the test does not hold its own socket")
		}
		if table.Sockets(os.Getpid(), 0)[list[0].Inode] || table.Sockets(os.Getppid(), 1)[list[0].Inode] {
			t.Error("another one holds it")
		}
	}
}

// TestSocketsOfTree: a child of the worker may hold the socket.
func TestSocketsOfTree(t *testing.T) {
	m := machine{t, t.TempDir()}
	m.process(10, 1, "torchrun", 'S', 1, python)
	m.process(11, 10, "python", 'S', 1, python)
	m.process(12, 1, "other", 'S', 1, python)
	for pid, target := range map[string]string{"10": "/dev/null", "11": "socket:[77]", "12": "socket:[78]"} {
		fd := filepath.Join(m.dir, pid, "fd")
		if err := os.Mkdir(fd, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(fd, "3")); err != nil {
			t.Fatal(err)
		}
	}
	table, err := read(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Sockets(10, 9); len(got) != 1 || !got[77] {
		t.Errorf("%v", got)
	}
	if list, err := table.Listeners(28028); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

func FuzzParseListener(f *testing.F) {
	f.Add("   0: 0100007F:6D7C 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1 0 100 0 0 10 0")
	f.Fuzz(func(t *testing.T, line string) {
		if l, ok := parseListener(line); ok && (!l.Address.IsValid() || l.Inode == 0) {
			t.Errorf("%q: %+v", line, l)
		}
	})
}
