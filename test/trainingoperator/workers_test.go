package trainingoperator_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
)

// workers are the training processes in the pods. They tell the test where they stand and do what it says.
type workers struct {
	t   *testing.T
	dir string // /test in the pods

	mu  sync.Mutex
	all []*worker
}

// worker is one training process: testdata/worker.py.
type worker struct {
	Env  map[string]string
	Args []string
	conn net.Conn
	gone bool
}

// listen waits for workers until the test ends.
func listen(t *testing.T) *workers {
	t.Helper()
	w := &workers{t: t}
	var err error
	if w.dir, err = os.MkdirTemp("", "workers"); err != nil { // a test's own directory is too long a name for a socket
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "worker.py"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "worker"), script, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(w.dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(w.dir, "socket"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { w.take(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		w.mu.Lock()
		for _, one := range w.all {
			one.conn.Close()
		}
		w.mu.Unlock()
		serving.Wait()
		os.RemoveAll(w.dir)
	})
	return w
}

// take hears of a worker, and of its end.
func (w *workers) take(conn net.Conn) {
	one, lines := &worker{conn: conn}, bufio.NewReader(conn)
	hello, err := lines.ReadBytes('\n')
	if err != nil {
		conn.Close() // it was killed before it could say who it is
		return
	}
	if err := json.Unmarshal(hello, one); err != nil {
		w.t.Errorf("%q: %v", hello, err)
	}
	w.mu.Lock()
	w.all = append(w.all, one)
	w.mu.Unlock()
	_, _ = io.Copy(io.Discard, lines)
	w.mu.Lock()
	one.gone = true
	w.mu.Unlock()
}

// pod is the name of the worker's pod.
func (w *worker) pod() string { return w.Env["HOSTNAME"] }

// do tells the worker what to do.
func (w *worker) do(format string, args ...any) { fmt.Fprintf(w.conn, format+"\n", args...) }

// round waits until that many workers live in the round, and returns them in the order of their pods' names.
func (o *operator) round(number, count int) (list []*worker) {
	o.t.Helper()
	o.until(fmt.Sprintf("%d workers of round %d", count, number), func() bool {
		if o.is(kubeflow.JobFailed) {
			o.t.Fatal("the job has failed")
		}
		list = o.workers.living(number)
		return len(list) == count
	})
	return list
}

// living are the workers of the round that live, in the order of their pods' names.
func (w *workers) living(round int) (list []*worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.all {
		if one.Env["GANGRUN_ROUND"] == strconv.Itoa(round) && !one.gone {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b *worker) int {
		switch {
		case a.pod() < b.pod():
			return -1
		case a.pod() > b.pod():
			return 1
		}
		return 0
	})
	return list
}

// lives reports whether the worker is still there.
func (o *operator) lives(w *worker) bool {
	o.workers.mu.Lock()
	defer o.workers.mu.Unlock()
	return !w.gone
}

// of is the worker in that pod.
func (o *operator) of(list []*worker, pod string) *worker {
	o.t.Helper()
	i := slices.IndexFunc(list, func(w *worker) bool { return w.pod() == pod })
	if i < 0 {
		o.t.Fatalf("no worker in pod %s", pod)
	}
	return list[i]
}

// started is how many workers there have been.
func (o *operator) started() int {
	o.workers.mu.Lock()
	defer o.workers.mu.Unlock()
	return len(o.workers.all)
}

// finish lets all workers succeed.
func finish(list []*worker) {
	for _, w := range list {
		w.do("exit 0")
	}
}

// newestWorker is the worker that has come last.
func (o *operator) newestWorker() *worker {
	o.workers.mu.Lock()
	defer o.workers.mu.Unlock()
	return o.workers.all[len(o.workers.all)-1]
}
