// Package docs_test runs what README.md and docs/ tell people to type: every block of shell, as it stands, but for the
// names of machines and directories that a reader has and a test does not.
package docs_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// block is some lines of shell on a page.
type block struct {
	page  string // from the root
	line  int
	text  string
	by    string // the directory of the test that runs it, when that is not this one
	never string // why it is run by none
}

const mostNever = 5

var (
	fence   = regexp.MustCompile("^```(\\w*)$")
	comment = regexp.MustCompile(`^<!-- (?:run by (\S+)|not run: (.+)) -->$`)
	bare    = regexp.MustCompile(`^    \$? ?(gangrun|make|pip|docker|kubectl|sbatch|systemctl|buildah|torchrun) [^:]*$`)
)

func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(harness.Root(), "docs", "*.md"))
	if err != nil || len(found) < 15 {
		t.Fatalf("%d pages, %v", len(found), err)
	}
	list := []string{"README.md", "examples/train/README.md"}
	for _, path := range found {
		list = append(list, "docs/"+filepath.Base(path))
	}
	return list
}

// blocks reads the blocks of shell on a page. A command that stands outside of one is a mistake.
func blocks(t *testing.T, page string) (list []block) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(harness.Root(), page))
	if err != nil {
		t.Fatal(err)
	}
	language, before := "", ""
	for i, line := range strings.Split(string(data), "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case language != "" && line == "```":
			language = ""
		case language == "" && m != nil:
			language = "none"
			if m[1] != "" {
				language = m[1]
			}
			if language == "sh" {
				b := block{page: page, line: i + 1}
				if c := comment.FindStringSubmatch(before); c != nil {
					b.by, b.never = c[1], c[2]
				}
				list = append(list, b)
			}
		case language == "sh":
			list[len(list)-1].text += line + "\n"
		case language == "" && bare.MatchString(line), language == "none" && strings.HasPrefix(line, "gangrun "):
			t.Errorf("%s:%d: a command that is in no block of sh: %s", page, i+1, line)
		}
		before = line
	}
	return list
}

// reader is what somebody who reads the pages has: a machine named host0, an etcd, a directory for checkpoints, a script.
type reader struct {
	dir  string
	etcd string
}

func newReader(t *testing.T) reader {
	t.Helper()
	r := reader{dir: t.TempDir(), etcd: strings.TrimPrefix(etcdserver.StartFor(t, "127.0.0.1", 1, nil).Servers[0].Client, "http://")}
	files := map[string]string{
		"train.py":       "import os, sys, time\nprint('rank', os.environ.get('RANK', 0), 'of', os.environ.get('WORLD_SIZE', 1), *sys.argv[1:])\n",
		"notify.py":      "import os\nprint('ended:', os.environ['GANGRUN_VERDICT'])\n",
		"train.log":      "Traceback (most recent call last):\n  File \"train.py\", line 1, in <module>\nModuleNotFoundError: No module named 'x'\n",
		"rules.yaml":     "rules:\n  - name: storage.throttled\n    role: root\n    pattern: 'SlowDown'\n    verdict: retry\n",
		"bin/kubectl":    "#!/bin/sh\ncase $1 in\nlogs) cat train.log ;;\nget) echo '{\"v\":1,\"verdict\":\"retry\",\"reason\":\"OOMKilled\",\"message\":\"m\",\"exitCode\":137}' ;;\nesac\n",
		"bin/accelerate": "#!/bin/sh\nshift 3\nexec python3 \"$@\"\n",
	}
	saved := filetest.NewPickle(2).Op("}(").Text("optimizer").Op("}(").Text("m").Op("K\x01u").Text("step").Int(100).Op("u").Stop()
	files["ckpt/ckpt_100.pkl"] = string(saved)
	for name, text := range files {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"bin/gangrun": harness.Binary(t), "bin/torchrun": harness.Binary(t), "examples": filepath.Join(harness.Root(), "examples"),
	} {
		if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"home", "tmp", "logs"} {
		if err := os.Mkdir(filepath.Join(r.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// types has the reader type a block. One for several nodes is typed on each, which is several at once here.
func (r reader) types(b block) string {
	text := strings.NewReplacer("http://etcd:2379", "http://"+r.etcd, "etcd:2379", r.etcd, "/mnt/ckpt", r.dir+"/ckpt", "/var/log/", r.dir+"/logs/", "/tmp/", r.dir+"/tmp/").Replace(b.text)
	if strings.Contains(text, "host0") {
		text = strings.NewReplacer("host0:29400", fmt.Sprintf("127.0.0.1:%d", freePort()), "--master-addr host0", fmt.Sprintf("--master-addr 127.0.0.1 --store-port %d", freePort())).Replace(text)
	}
	nodes := 1
	if strings.Contains(text, "$R") || strings.Contains(text, "# on each of four nodes") {
		nodes = 4
	}
	results := make(chan string, nodes)
	for node := range nodes {
		go func() { results <- r.one(text, node) }()
	}
	var wrong string
	for range nodes {
		wrong += <-results
	}
	return wrong
}

// limit is many times what a block takes.
const limit = 3 * time.Minute

func (r reader) one(text string, node int) string {
	cmd := exec.Command("timeout", "--kill-after=5s", fmt.Sprint(limit.Seconds()), "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "PATH="+r.dir+"/bin:"+os.Getenv("PATH"), "HOME="+r.dir+"/home", fmt.Sprintf("R=%d", node),
		"LOCAL=1", "GANGRUN_FENCE_TIMEOUT=20s", "PYENV_VERSION="+os.Getenv("PYENV_VERSION"))
	cmd.Stdin = strings.NewReader("c\nq\n") // for a debugger
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("node %d: %v\n%s", node, err, out)
	}
	return ""
}

// TestBlocks types every block, of which each may find what those above it on the page have left.
func TestBlocks(t *testing.T) {
	never := 0
	for _, page := range pages(t) {
		list := blocks(t, page)
		for _, b := range list {
			if b.never != "" {
				never++
			}
			if b.by == "" {
				continue
			}
			if tests, _ := filepath.Glob(filepath.Join(harness.Root(), b.by, "*_test.go")); len(tests) == 0 {
				t.Errorf("%s:%d: %s holds no test", b.page, b.line, b.by)
			}
		}
		t.Run(page, func(t *testing.T) {
			var r reader
			for _, b := range list {
				if b.by != "" || b.never != "" {
					continue
				}
				if r.dir == "" {
					r = newReader(t)
				}
				if wrong := r.types(b); wrong != "" {
					t.Errorf("%s:%d:\n%s\n%s", b.page, b.line, b.text, wrong)
				}
			}
		})
	}
	if never > mostNever {
		t.Errorf("%d blocks are run by no test, and %d may be", never, mostNever)
	}
}

// TestSteps runs the pages' lines that report a step, within gangrun and without it.
func TestSteps(t *testing.T) {
	for page, call := range map[string]string{"README.md": "report(7)", "docs/local.md": "report(7, 0)"} {
		data, err := os.ReadFile(filepath.Join(harness.Root(), page))
		if err != nil {
			t.Fatal(err)
		}
		code := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(data)
		if code == nil {
			t.Fatalf("%s has no Python", page)
		}
		script := filepath.Join(t.TempDir(), "steps.py")
		if err := os.WriteFile(script, append(code[1], "\n"+call+"\n"...), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("python3", script).CombinedOutput(); err != nil {
			t.Errorf("%s, without gangrun: %v\n%s", page, err, out)
		}
		log := filepath.Join(t.TempDir(), "message")
		res := harness.Run(t, limit, nil, harness.Binary(t), "run", "--termination-log", log, "--", "python3", script)
		if m := harness.Message(t, log); res.Code != 0 || m.Step == nil || *m.Step != 7 {
			t.Errorf("%s: exit code %d, %+v\n%s", page, res.Code, m, res.Stderr)
		}
	}
}

// freePort is a port that nobody listens on now.
func freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestMain(m *testing.M) {
	etcdserver.Main()
	harness.ClearEnvironment()
	os.Exit(m.Run())
}
