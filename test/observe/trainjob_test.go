package observe_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// statusServer takes what is posted as Trainer's does, for a job of a namespace.
type statusServer struct {
	mu    sync.Mutex
	taken []string
	env   []string // what Trainer gives its pods
}

func newStatusServer(t *testing.T) *statusServer {
	t.Helper()
	s := &statusServer{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/status" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s.taken = append(s.taken, string(body))
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, content := range map[string][]byte{"ca": certificate, "token": []byte("secret")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.env = []string{
		"KUBEFLOW_TRAINER_SERVER_URL=" + server.URL + "/status", "KUBEFLOW_TRAINER_SERVER_CA_CERT=" + dir + "/ca",
		"KUBEFLOW_TRAINER_SERVER_TOKEN=" + dir + "/token",
	}
	return s
}

// last is the newest that was taken, and how many there were.
func (s *statusServer) last() (string, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.taken) == 0 {
		return "", 0
	}
	return s.taken[len(s.taken)-1], len(s.taken)
}

// TestTrainJobProgress: how far a job has come is posted where Trainer asks for it, unless somebody else does.
func TestTrainJobProgress(t *testing.T) {
	t.Parallel()
	train, _ := filepath.Abs("testdata/train.py")
	bars := `import sys; [print(f"\r {n}%|#  | {n}/100 [00:3{n}<03:40,  4.00it/s]", end="", file=sys.stderr) for n in range(3)]` + "\n"
	for name, test := range map[string]struct {
		flags []string
		env   []string
		first string // lines of Python before the training
		posts bool
	}{
		"as it comes":                         {nil, nil, "", true},
		"off":                                 {[]string{"--trainjob-progress", "off"}, nil, "", false},
		"transformers, named":                 {[]string{"--framework", "hf"}, nil, "", false},
		"transformers, seen":                  {nil, nil, bars, false},
		"transformers, seen beside own lines": {[]string{"--step-regex", `loss of step (\d+)`}, nil, bars, false},
		"transformers, seen without hangs":    {[]string{"--hang", "off"}, nil, bars, false},
		"transformers without its callback":   {[]string{"--framework", "hf"}, []string{"DISABLE_KUBEFLOW_INTEGRATION=true"}, "", true},
		"transformers, and asked for":         {[]string{"--framework", "hf", "--trainjob-progress", "on"}, nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStatusServer(t)
			env := append(append(s.env, "STEPS=20", "STEP_TIME=0.1", "FAIL=0:n:9:kill"), test.env...)
			argv := append([]string{harness.Binary(t), "run", "--node", "n", "--restart-backoff", "0s"}, test.flags...)
			argv = append(argv, "--", harness.Program(t, "python3", "install python3"), "-c", test.first+"exec(open('"+train+"').read())")
			result := harness.Run(t, limit, env, argv...)
			last, count := s.last()
			if result.Code != 0 || count > 0 != test.posts || strings.Contains(result.Stderr, "out of date") {
				t.Errorf("%d, %d posts\n%s", result.Code, count, result.Stderr)
			}
			for _, want := range []string{`"progressPercentage":100`, `{"name":"current_step","value":"20"}`, `{"name":"restarts","value":"1"}`,
				`{"name":"last_interruption","value":"KilledBySIGKILL"}`} {
				if test.posts && !strings.Contains(last, want) {
					t.Errorf("no %s in %s", want, last)
				}
			}
		})
	}
}
