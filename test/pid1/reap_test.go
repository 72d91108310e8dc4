package pid1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOrphans makes ten thousand orphans while the worker has children of its own that it waits for. All are reaped
// while the worker still runs, none of its own statuses is taken from it, and gangrun keeps the worker's.
func TestOrphans(t *testing.T) {
	const script = `
		i=0
		while [ $i -lt 500 ]; do
			( : & : & : & : & : & : & : & : & : & : & : & : & : & : & : & : & : & : & : & : & )
			(exit $((i % 256))) &
			wait $!
			[ $? -eq $((i % 256)) ] || { echo "status of child $i lost" >&3; exit 1; }
			i=$((i + 1))
		done
		exec "$@"`
	inBothModes(t, func(t *testing.T, m mode) {
		worker := append(sh(script), "sh")
		j := launch{mode: m, worker: append(worker, probe("settled", "7")...)}.start(t)
		j.expect("settled")
		j.exits(7)
		j.gone()
	})
}

// TestAdoptsOrphans checks that what loses its parent becomes gangrun's own child, also where gangrun is not PID 1.
func TestAdoptsOrphans(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		worker := append(sh(`echo "worker ready $PPID" >&3; "$0" orphan; exec sleep 100`), probe()...)
		j := launch{mode: m, flags: []string{"--grace=300ms"}, worker: worker}.start(t)
		gangrun := j.ready("worker")
		j.expect(fmt.Sprint("adopted by ", gangrun))
		j.signal(syscall.SIGTERM) // the orphan stays, and does not outlive gangrun
		j.exits(143)
		j.gone()
	})
}

// TestStatusAmongOrphans ends the worker in the same moment as its orphans, again and again.
func TestStatusAmongOrphans(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		for i := range 100 {
			code := 1 + i%100
			launch{mode: m, worker: sh(fmt.Sprintf("( : & : & : & : & ); exit %d", code))}.start(t).exits(code)
		}
	})
}

// TestRestartsAmongOrphans runs fifty workers in one gangrun, each of which leaves orphans behind. A status that
// was lost or taken for another one would end it early.
func TestRestartsAmongOrphans(t *testing.T) {
	t.Parallel()
	const workers = 50
	count := filepath.Join(t.TempDir(), "count")
	if err := os.WriteFile(count, []byte("0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	j := launch{
		mode: asChild, restarts: true, flags: []string{"--max-restarts=1000", "--restart-backoff=1ms:1ms"},
		worker: append(sh(`
			read n <"$0"; n=$((n + 1)); echo $n >"$0"
			( : & : & : & : & )
			[ $n -lt $1 ] || exit 42
			exit 200`), count, fmt.Sprint(workers)),
	}.start(t)
	j.exits(42)
	j.gone()
	if raw, _ := os.ReadFile(count); strings.TrimSpace(string(raw)) != fmt.Sprint(workers) {
		t.Errorf("%s workers ran, want %d", raw, workers)
	}
}
