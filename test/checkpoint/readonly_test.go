package checkpoint_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/test/harness"
)

// reader notes what it was given to resume from, and is killed once on the node a, when both have noted that.
const reader = `
import os, pickle, signal, sys, time
journal, other, node = sys.argv[1:4]
path = os.environ["GANGRUN_RESUME_PATH"]
step = pickle.load(open(path, "rb"))["step"] if path else 0
first = os.environ["GANGRUN_ROUND"] == "0"
print(os.environ["GANGRUN_RESUME_DECISION"], step, file=open(journal, "a"), flush=True)
while not os.path.exists(other):
    time.sleep(0.01)
if first and node == "a":
    os.kill(os.getpid(), signal.SIGKILL)
if first:
    signal.pause()
`

// TestReadOnly has two nodes whose checkpoint directories are mounted so that nothing can be written there, and a
// worker that is killed: both rounds resume on both nodes from the newest step that they have in common, and each says
// once that nothing can be kept.
func TestReadOnly(t *testing.T) {
	python := harness.Program(t, "python3", "install it")
	unshare := harness.Program(t, "unshare", "install util-linux")
	dir := t.TempDir()
	for node, steps := range map[string][]int64{"a": {100, 200, 300}, "b": {100, 200}} {
		saved := filepath.Join(dir, node)
		if err := os.Mkdir(saved, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, step := range steps {
			pickle := filetest.NewPickle(2).Op("}(").Text("optimizer").Op("}(").Text("m").Op("K\x01u").Text("step").Int(step).
				Op("u").Stop()
			if err := os.WriteFile(filepath.Join(saved, fmt.Sprintf("ckpt_%d.pkl", step)), pickle, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	mounted := []string{unshare, "--mount", "--propagation", "private", "sh", "-ec",
		`mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"`, "sh"}
	if err := exec.Command(unshare, append(mounted[1:], filepath.Join(dir, "a"), "true")...).Run(); err != nil {
		harness.Missing(t, "a mount of its own", "run it as root, in a container with CAP_SYS_ADMIN")
	}
	endpoint := freeAddress(t)
	var nodes []*harness.Running
	for _, name := range []string{"a", "b"} {
		saved := filepath.Join(dir, name)
		log := filepath.Join(dir, name+".log")
		argv := append(append([]string{}, mounted...), saved, harness.Binary(t), "run", "--nodes", "2", "--endpoint", endpoint,
			"--node", name, "--job", "readonly", "--max-restarts", "2", "--restart-backoff", "1ms:2ms", "--termination-log", log,
			"--checkpoint-dir", saved, "--", python, "-c", reader, filepath.Join(dir, name+".journal"),
			filepath.Join(dir, map[string]string{"a": "b", "b": "a"}[name]+".journal"), name)
		nodes = append(nodes, &harness.Running{Process: harness.Start(t, limit, nil, argv...), Log: log})
	}
	for i, n := range nodes {
		name := []string{"a", "b"}[i]
		end := n.End()
		text, _ := os.ReadFile(filepath.Join(dir, name+".journal"))
		said := end.Stderr
		if got := strings.Join(strings.Fields(string(text)), " "); end.Code != 0 || got != "resume 200 resume 200" {
			t.Errorf("%s: exit code %d, it began from %q\n%s", name, end.Code, got, said)
		}
		if c := strings.Count(said, "cannot keep beside the checkpoints"); c != 1 {
			t.Errorf("%s says %d times that nothing can be kept there:\n%s", name, c, said)
		}
		left, err := os.ReadDir(filepath.Join(dir, name))
		if err != nil || len(left) != 3-i {
			t.Errorf("%s: %v, %v", name, left, err)
		}
	}
}
