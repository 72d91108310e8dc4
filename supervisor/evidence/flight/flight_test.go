package flight

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const recorded = `{"version":"2.10","pg_config":{"":{"name":"","desc":"","ranks":"[0, 1]"}},
"pg_status":{"0":{"last_enqueued_collective":"6","last_started_collective":"-1","last_completed_collective":"5"},
"7":{"last_enqueued_collective":"x","last_completed_collective":4}},"entries":[{"pg_id":7,"process_group":["9","dp"],"collective_seq_id":6,"state":"scheduled"}]}`

func TestParse(t *testing.T) {
	r, err := Parse([]byte(recorded))
	if g, found := r.World(); err != nil || !found || g.Enqueued != 6 || g.Completed != 5 || r.Groups["9"].Enqueued != -1 || r.Groups["9"].Completed != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := Parse([]byte(`{"pg_config":{},"pg_status":{}}`)); err != nil || len(r.Groups) != 0 {
		t.Errorf("%+v, %v", r, err)
	} else if _, found := r.World(); found {
		t.Error("a world of nothing")
	}
	if _, err := Parse([]byte("pong")); err == nil {
		t.Error("that is no record")
	}
}

// TestAsk asks a server as torch's: nothing of all backends, and then NCCL's; one that does not answer; one that refuses.
func TestAsk(t *testing.T) {
	serve := func(handle http.HandlerFunc) string {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: handle}
		go server.Serve(l)
		t.Cleanup(func() { server.Close() })
		return path
	}
	path := serve(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "pickle") {
			t.Error("a rank that is asked for its callers reads files for seconds, which looks like life")
		}
		switch {
		case r.Method != http.MethodPost:
			http.NotFound(w, r)
		case r.URL.Path == "/handler/dump_nccl_trace_json":
			io.WriteString(w, recorded)
		default:
			io.WriteString(w, `{"pg_status":{}}`)
		}
	})
	if r, err := Ask(path, time.Now().Add(10*time.Second)); err != nil || len(r.Groups) != 2 || string(r.Text) != recorded {
		t.Errorf("%+v, %v", r, err)
	}
	release := make(chan struct{})
	path = serve(func(http.ResponseWriter, *http.Request) { <-release })
	if _, err := Ask(path, time.Now().Add(100*time.Millisecond)); err == nil {
		t.Error("no answer, and no error")
	}
	close(release)
	path = serve(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "unknown", http.StatusNotFound) })
	if _, err := Ask(path, time.Now().Add(10*time.Second)); err == nil || !strings.Contains(err.Error(), "404") {
		t.Error(err)
	}
	if _, err := Ask("/none", time.Now().Add(time.Second)); err == nil {
		t.Error("nobody listens there")
	}
}

func TestSockets(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"3-77.sock", "x-1.sock", "3.sock", "notes", "-1-2.sock", "0-0.sock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := Sockets(dir); len(got) != 1 || got[0] != (Socket{filepath.Join(dir, "3-77.sock"), 3, 77}) {
		t.Errorf("%+v", got)
	}
}

// TestPlugin runs it with a torch that only creates the socket's file. A launcher, of which PyTorchJob sets RANK, must not
// take the place of the rank.
func TestPlugin(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing: install python3")
	}
	plugins := t.TempDir()
	if err := Install(plugins); err != nil {
		t.Fatal(err)
	}
	const script = `import sys, types
sys.modules["torch"] = sys.modules["torch._C"] = types.ModuleType("torch")
sys.modules["torch._C._distributed_c10d"] = types.SimpleNamespace(_WorkerServer=lambda path: open(path, "w").close())
import gangrun_torch
gangrun_torch.start()`
	for name, test := range map[string]struct {
		env  []string
		want int
	}{
		"a rank":                {[]string{"RANK=3", "LOCAL_RANK=1"}, 1},
		"PyTorchJob's launcher": {[]string{"RANK=3"}, 0},
		"a launcher":            {nil, 0},
	} {
		dir := t.TempDir()
		cmd := exec.Command(python, "-S", "-c", script)
		cmd.Env = append(test.env, "PATH="+os.Getenv("PATH"), "PYTHONPATH="+plugins, Variable+"="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		if got := Sockets(dir); len(got) != test.want || len(got) == 1 && got[0].Rank != 3 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(recorded))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := Parse(text); err != nil && len(r.Groups) > 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
