package launch_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// commandLines are told apart by whether torchrun would start workers. The script of each is true, and it is a
// program of its own.
var commandLines = []struct {
	name    string
	flags   []string
	env     []string
	bare    bool   // there is nothing but the flags
	refused bool   // by torchrun
	taken   string // why gangrun takes what torchrun refuses
}{
	{name: "no flags"},
	{name: "one node", flags: words("--nnodes 1")},
	{name: "one node as a range", flags: words("--nnodes=1:1")},
	{name: "auto", flags: words("--nproc-per-node auto")},
	{name: "cpu", flags: words("--nproc_per_node=cpu")},
	{name: "attached values", flags: words("-r3 -t0:3")},
	{name: "an equals sign after a short flag", flags: words("-r=3")},
	{name: "spaces around a number", flags: []string{"--max-restarts", " 3 "}},
	{name: "plus", flags: words("--max-restarts +3")},
	{name: "float", flags: words("--monitor-interval 1e-1")},
	{name: "repeated", flags: words("--nnodes x --nnodes 1")},
	{name: "repeated, wrong first", flags: words("--max-restarts x --max-restarts 1"), refused: true},
	{name: "dashes before the script", flags: words("--")},
	{name: "rendezvous settings", flags: []string{"--rdzv-conf", "join_timeout=10, last_call_timeout = 5"}},
	{name: "one rendezvous setting, wrong", flags: words("--rdzv-conf a"), refused: true},
	{name: "empty rendezvous setting", flags: words("--rdzv-conf join_timeout="), refused: true},
	{name: "start method", flags: words("--start-method forkserver")},
	{name: "wrong start method", flags: words("--start-method thread"), refused: true},
	{name: "event log", flags: words("--event-log-handler null")},
	{name: "signals", flags: words("--signals-to-handle SIGTERM,SIGUSR1")},
	{name: "shutdown timeout", flags: words("--shutdown-timeout 5")},
	{name: "negative shutdown timeout", flags: words("--shutdown-timeout -1"), refused: true},
	{name: "fraction of a shutdown timeout", flags: words("--shutdown-timeout 1.5"), refused: true},
	{name: "own address", flags: words("--local-addr 127.0.0.1")},
	{name: "filter", flags: words("--local-ranks-filter 0,1")},
	{name: "filter is no list", flags: words("--local-ranks-filter a"), refused: true},
	{name: "prefix", flags: words("--stand --no-py")},
	{name: "ambiguous prefix", flags: words("--r 3"), refused: true},
	{name: "unknown flag", flags: words("--nosuch"), refused: true},
	{name: "unknown short flag", flags: words("-x"), refused: true},
	{name: "value for a switch", flags: words("--standalone=1"), refused: true},
	{name: "nothing to run", flags: words("--nproc-per-node 1"), bare: true, refused: true},
	{name: "value is missing", flags: words("--nproc-per-node"), bare: true, refused: true},
	{name: "three numbers of nodes", flags: words("--nnodes 1:2:3"), refused: true},
	{name: "no nodes", flags: words("--nnodes 0"), refused: true},
	{name: "backward range", flags: words("--nnodes 2:1"), refused: true},
	{name: "nodes are no number", flags: words("--nnodes two"), refused: true},
	{name: "no workers", flags: words("--nproc-per-node 0"), refused: true},
	{name: "fewer than no workers", flags: words("--nproc-per-node -1"), refused: true},
	{name: "many workers", flags: words("--nproc-per-node many"), refused: true},
	{name: "fewer than no restarts", flags: words("--max-restarts -1"), refused: true},
	{name: "restarts are no number", flags: words("--max-restarts x"), refused: true},
	{name: "hexadecimal", flags: words("--max-restarts 0x1"), refused: true},
	{name: "node rank is no number", flags: words("--node-rank a"), refused: true},
	{name: "port is no number", flags: words("--master-port http"), refused: true},
	{name: "streams", flags: words("-r 4"), refused: true},
	{name: "streams of a rank", flags: words("--tee 0:5"), refused: true},
	{name: "comma at the end", flags: words("-r 0:1,"), refused: true},
	{name: "a rank twice", flags: words("-r 0:1,0:2")},
	{name: "a rank that does not exist", flags: words("-r 7:1")},
	{name: "a rank of two digits", flags: words("-r 10:1"), refused: true,
		taken: "there are nodes with more than ten ranks"},
	{name: "no backend", flags: words("--rdzv-backend nosuch"), refused: true},
	{name: "a module that is no Python", flags: words("-m"), refused: true},
	{name: "binding", flags: words("--numa-binding nosuch"), refused: true},
	{name: "logs of a plug-in", flags: words("--logs-specs nosuch"), refused: true},
	{name: "log directory is a file", flags: words("--log-dir /etc/passwd"), refused: true},
	{name: "log directory is nothing", flags: words("--log-dir /dev/null -t 3")},
	{name: "variables", env: words("PET_NPROC_PER_NODE=2 PET_STANDALONE=0 PET_MODULE=0 PET_REDIRECTS=0:1 PET_NNODES=1")},
	{name: "flag before a wrong variable", flags: words("--nproc-per-node 1"), env: words("PET_NPROC_PER_NODE=many")},
	{name: "flag before a variable of the wrong type", flags: words("--max-restarts 1"),
		env: words("PET_MAX_RESTARTS=x")},
	{name: "variable is no number", env: words("PET_MAX_RESTARTS=x"), refused: true},
	{name: "variable of a switch is a word", env: words("PET_STANDALONE=true"), refused: true},
	{name: "variable of a switch is empty", env: words("PET_STANDALONE="), refused: true},
	{name: "variable of a switch is 2", env: words("PET_STANDALONE=2")},
	{name: "variable is empty", env: words("PET_NPROC_PER_NODE="), refused: true},
	{name: "variable of the streams", env: words("PET_TEE=9"), refused: true},
}

// TestSameCommandLines asks both about command lines that are right and wrong. What torchrun refuses, with 1 or 2,
// gangrun refuses with 64 before anything is started.
func TestSameCommandLines(t *testing.T) {
	parallel(t)
	type line struct {
		Argv []string `json:"argv"`
		Env  []string `json:"env"`
	}
	var lines []line
	for _, c := range commandLines {
		argv := append([]string(nil), c.flags...)
		if !c.bare {
			argv = append(append(words("--no-python"), argv...), "true")
		}
		lines = append(lines, line{argv, c.env})
	}
	raw, err := json.Marshal(lines)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "lines.json")
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	interpreter := harness.Peer(t, "torch/bin/python3")
	res := harness.Run(t, limit, []string{"TMPDIR=" + dir}, interpreter, harness.Script(t, "parse.py"), file)
	var answers []string
	if err := json.Unmarshal([]byte(res.Stdout), &answers); err != nil || len(answers) != len(lines) {
		t.Fatalf("%v\n%s\n%s", err, res.Stdout, res.Stderr)
	}
	for i, c := range commandLines {
		t.Run(c.name, func(t *testing.T) {
			if refused := answers[i] != ""; refused != c.refused {
				t.Errorf("torchrun %q: refused %t: %s", lines[i].Argv, refused, answers[i])
			}
			l := gangrun(t)
			env := append(append([]string{"TMPDIR=" + t.TempDir()}, l.env...), c.env...)
			res := harness.Run(t, limit, env, append(l.argv, lines[i].Argv...)...)
			want := 0
			if c.refused && c.taken == "" {
				want = 64
			}
			if res.Code != want {
				t.Errorf("gangrun launch %q, %q: exit code %d, not %d; torchrun: %s\n%s",
					lines[i].Argv, c.env, res.Code, want, answers[i], res.Stderr)
			}
			if want != 0 && strings.TrimSpace(res.Stderr) == "" {
				t.Errorf("gangrun launch %q, %q: not a word about why", lines[i].Argv, c.env)
			}
		})
	}
}
