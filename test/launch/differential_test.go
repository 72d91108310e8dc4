package launch_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// runDirectory is the directory of a run below the log directory: the run's id and something random, of which torchrun
// has eight letters and digits.
var runDirectory = regexp.MustCompile(`^(.+?)_([a-z0-9_]{8}|\d+)$`)

func TestSameAsTorchrun(t *testing.T) {
	for _, g := range grid {
		t.Run(g.name, func(t *testing.T) {
			parallel(t)
			testdata, free := harness.Script(t, ""), freePort(t)
			fill := func(list []string) []string {
				list = slices.Clone(list)
				for i := range list {
					list[i] = strings.NewReplacer("{testdata}", testdata, "{port}", free).Replace(list[i])
				}
				return list
			}
			j := job{flags: fill(g.flags), script: g.script, args: fill(g.args), env: fill(g.env)}
			if j.script == "" {
				j.script = harness.Script(t, "probe.py")
			}
			name, want, _ := strings.Cut(fill([]string{g.want})[0], "=")
			var seen []observed
			for _, l := range []launcher{torchrun(t), gangrun(t)} {
				res, dir := l.run(t, j)
				if failed := res.Code != 0; failed != g.fails {
					t.Errorf("%s ended with %d\n%s", l.name, res.Code, res.Stderr)
				}
				o := observe(t, dir, res)
				for rank, w := range o.workers {
					if w.Env[name] != want {
						t.Errorf("%s: worker %s has %s=%s, not %s", l.name, rank, name, w.Env[name], want)
					}
				}
				seen = append(seen, o)
			}
			compare(t, seen[0], seen[1])
		})
	}
}

// TestSameOnTwoNodes is the static rendezvous: the nodes are told their ranks and where the first one is.
func TestSameOnTwoNodes(t *testing.T) {
	tests := []struct {
		name   string
		nproc  [2]string
		role   [2]string
		master string
	}{
		{"alike", [2]string{"2", "2"}, [2]string{"r", "r"}, "127.0.0.1"},
		{"different", [2]string{"1", "2"}, [2]string{"r0", "r1"}, "localhost"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parallel(t)
			var seen []observed
			for _, l := range []launcher{torchrun(t), gangrun(t)} {
				dir, master, store := directory(t), freePort(t), freePort(t)
				var nodes []*started
				for i, rank := range []string{"0", "1"} {
					flags := append(words("--nnodes 2 -r 3 --rdzv-id two"), "--master-addr", tt.master, "--master-port", master,
						"--node-rank", rank, "--nproc-per-node", tt.nproc[i], "--role", tt.role[i], "--log-dir", "{dir}/logs"+rank)
					j := job{flags: flags, script: harness.Script(t, "probe.py"), args: []string{rank}}
					if l.name == ours {
						j.env = []string{"GANGRUN_STORE_PORT=" + store}
					}
					nodes = append(nodes, l.startIn(t, dir, j))
				}
				for i, n := range nodes {
					if res := n.Wait(); res.Code != 0 {
						t.Errorf("%s: node %d ended with %d\n%s", l.name, i, res.Code, res.Stderr)
					}
				}
				o := observe(t, dir, harness.Result{})
				for name, w := range o.workers {
					if w.Env["MASTER_PORT"] != master {
						t.Errorf("%s: worker %s has MASTER_PORT %s, not %s", l.name, name, w.Env["MASTER_PORT"], master)
					}
				}
				seen = append(seen, o)
			}
			compare(t, seen[0], seen[1])
		})
	}
}

// worker is what one worker has written down about itself.
type worker struct {
	Argv         []string
	Env          map[string]string
	Cwd          string
	LeadsSession bool
	Stdin        string
	Python       string
	Unbuffered   bool
	Ignored      string
	Blocked      string
	Main         string
}

// observed is what can be seen of a run from outside, with the run's own directory written as {dir}.
type observed struct {
	workers        map[string]worker // by attempt and rank
	stdout, stderr []string          // sorted lines; of stderr only the workers'
	logs           map[string]string // name → content; of an error file none
}

func observe(t *testing.T, dir string, res harness.Result) observed {
	t.Helper()
	plain := strings.NewReplacer(dir, "{dir}")
	o := observed{workers: map[string]worker{}, logs: map[string]string{}}
	records, _ := filepath.Glob(dir + "/probe/*.json")
	for _, file := range records {
		var w worker
		if err := json.Unmarshal([]byte(read(t, file)), &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		stdin, err := os.Stat(dir + "/stdin")
		if err != nil {
			t.Fatal(err)
		}
		if w.Stdin == inode(stdin) {
			w.Stdin = "the launcher's"
		}
		w.Cwd = plain.Replace(w.Cwd)
		for i := range w.Argv {
			w.Argv[i] = plain.Replace(w.Argv[i])
		}
		for name, value := range w.Env {
			w.Env[name] = plain.Replace(value)
		}
		o.workers[strings.TrimSuffix(filepath.Base(file), ".json")] = w
	}
	o.stdout = slices.Sorted(strings.Lines(res.Stdout))
	for line := range strings.Lines(res.Stderr) {
		if strings.Contains(line, "probe: ") && !strings.HasPrefix(line, "time=") { // gangrun's own words show the last line
			o.stderr = append(o.stderr, line)
		}
	}
	slices.Sort(o.stderr)
	collectLogs(t, o.logs, dir)
	return o
}

// collectLogs reads every log directory below dir. The random parts of names are cut off after a look at them.
func collectLogs(t *testing.T, logs map[string]string, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == "probe" || d.Name() == "cwd" || d.Name() == "stdin" || path == dir {
			if d.IsDir() && path != dir {
				return fs.SkipDir
			}
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.IsDir() && filepath.Dir(name) == "tmp" && (!strings.HasPrefix(d.Name(), "torchelastic_") || empty(path)) {
			return fs.SkipDir // no log directory: sockets and the like, or one that torchrun has left behind for nothing
		}
		parts := strings.Split(name, "/")
		for i, part := range parts {
			found := runDirectory.FindStringSubmatch(part)
			if found == nil || found[1] == "attempt" {
				continue
			}
			if uuid.MatchString(found[1]) {
				found[1] = "UUID"
			}
			if parts[i] = found[1] + "_RANDOM"; i == len(parts)-1 && d.IsDir() {
				info, err := d.Info()
				if err != nil {
					return err
				}
				parts[i] += " " + info.Mode().String()
				logs[strings.Join(parts, "/")] = ""
				return nil
			}
		}
		name = strings.Join(parts, "/")
		if logs[name] = ""; d.Type().IsRegular() && d.Name() != "error.json" {
			logs[name] = read(t, path)
		}
		if strings.HasPrefix(d.Name(), "filtered_") { // of several workers, in any order
			logs[name] = strings.Join(slices.Sorted(strings.Lines(logs[name])), "")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// empty says that there is no file below dir.
func empty(dir string) bool {
	files := 0
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files++
		}
		return err
	})
	return files == 0
}

func compare(t *testing.T, theirs, ours observed) {
	t.Helper()
	if len(theirs.workers) == 0 {
		t.Error("no worker has written anything down")
	}
	for _, name := range names(theirs.workers, ours.workers) {
		a, inTheirs := theirs.workers[name]
		b, inOurs := ours.workers[name]
		if !inTheirs || !inOurs {
			t.Errorf("worker %s (attempt.rank): torchrun's %t, gangrun's %t", name, inTheirs, inOurs)
			continue
		}
		for _, variable := range names(a.Env, b.Env) {
			if !same(variable, a.Env[variable], b.Env[variable]) {
				t.Errorf("worker %s: %s is %s under torchrun and %s under gangrun",
					name, variable, in(a.Env, variable), in(b.Env, variable))
			}
		}
		a.Env, b.Env = nil, nil
		// torchrun gives each worker a session of its own, but for those of --run-path.
		a.LeadsSession = a.LeadsSession || b.LeadsSession
		if !reflect.DeepEqual(a, b) {
			t.Errorf("worker %s:\ntorchrun %+v\ngangrun  %+v", name, a, b)
		}
	}
	if !slices.Equal(theirs.stdout, ours.stdout) {
		t.Errorf("standard output, sorted:\ntorchrun %q\ngangrun  %q", theirs.stdout, ours.stdout)
	}
	if !slices.Equal(theirs.stderr, ours.stderr) {
		t.Errorf("the workers' standard error, sorted:\ntorchrun %q\ngangrun  %q", theirs.stderr, ours.stderr)
	}
	for _, name := range names(theirs.logs, ours.logs) {
		if a, b := in(theirs.logs, name), in(ours.logs, name); a != b {
			t.Errorf("log %s:\ntorchrun %s\ngangrun  %s", name, a, b)
		}
	}
}

// names are the keys of both maps, sorted.
func names[V any](a, b map[string]V) []string {
	var all []string
	for _, m := range []map[string]V{a, b} {
		for name := range m {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// in is the value of a key for a person to read.
func in(m map[string]string, key string) string {
	if v, ok := m[key]; ok {
		return fmt.Sprintf("%q", v)
	}
	return "absent"
}
