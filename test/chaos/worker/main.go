// Command worker is a rank of a job that is broken on purpose. It trains in step with the other ranks, whom it meets
// where gangrun says, saves as torch does, resumes from what it is given, and writes down all of it.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gangrun/gangrun/test/chaos/history"
)

type worker struct {
	dir     string // of the job
	saves   string // where to save
	own     bool   // each node does
	hangs   bool   // when another rank is gone; else it fails
	renames bool   // saves beside, and renames
	helper  bool   // has a child, in a session of its own, that ignores what it can
	pace    time.Duration
	every   int // steps from one save to the next

	at     history.Record // who it is and where it stands
	log    *os.File
	first  int // the step at which it began
	notify net.Conn
	orders orders
}

// orders are what the test says; each is read between two steps.
type orders struct{ hang, tear, tearLate, fail, eat atomic.Bool }

func main() {
	debug.SetTraceback("crash") // a SIGSEGV ends this process by a signal, as it ends others
	var w worker
	flag.StringVar(&w.dir, "dir", "", "")
	flag.StringVar(&w.saves, "saves", "", "")
	flag.BoolVar(&w.own, "own", false, "")
	flag.BoolVar(&w.hangs, "hangs", false, "")
	flag.BoolVar(&w.renames, "renames", false, "")
	flag.BoolVar(&w.helper, "helper", false, "")
	flag.DurationVar(&w.pace, "pace", 20*time.Millisecond, "")
	flag.IntVar(&w.every, "every", 20, "")
	helps := flag.Bool("helps", false, "be the child")
	flag.Parse()
	w.introduce()
	if *helps {
		w.help()
	}
	if err := w.run(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(99)
	}
}

func number(names ...string) int {
	for _, name := range names {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
	}
	return 0
}

func (w *worker) introduce() {
	w.at = history.Record{
		Node: os.Getenv("GANGRUN_NODE_NAME"), Pod: number("CHAOS_POD"), Round: number("GANGRUN_ROUND"),
		Rank: number("RANK", "PET_NODE_RANK"), World: max(number("WORLD_SIZE", "PET_NNODES"), 1),
		Decision: os.Getenv("GANGRUN_RESUME_DECISION"), Path: os.Getenv("GANGRUN_RESUME_PATH"),
		Meet: net.JoinHostPort(os.Getenv("MASTER_ADDR"), os.Getenv("MASTER_PORT")),
	}
}

func (w *worker) run() error {
	name := fmt.Sprintf("%d-%d-%s-%d", w.at.Round, w.at.Rank, w.at.Node, w.at.Pod)
	var err error
	if w.log, err = os.OpenFile(filepath.Join(w.dir, "history", name+".jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return err
	}
	beside, err := history.Live(filepath.Join(w.dir, "alive"), w.at.Round, name)
	if err != nil {
		return err
	}
	state := ""
	if w.at.Path != "" {
		if w.at.Made, w.at.Step, state, err = load(w.at.Path); err != nil {
			state = err.Error() // which the checker finds to be no step's
		}
	}
	if told := os.Getenv("GANGRUN_RESUME_STEP"); told != "" && told != strconv.Itoa(w.at.Step) {
		state = "told step " + told
	}
	w.first = w.at.Step
	w.write(history.Open, state, "")
	w.at.Path, w.at.Decision, w.at.Meet, w.at.Made = "", "", "", 0
	for _, text := range beside {
		w.write(history.Beside, "", text)
	}
	if err := w.listen(); err != nil {
		return err
	}
	if w.helper {
		if err := w.startHelper(); err != nil {
			return err
		}
	}
	if socket := os.Getenv("NOTIFY_SOCKET"); socket != "" {
		if w.notify, err = net.Dial("unixgram", socket); err != nil {
			return err
		}
	}
	meeting, err := meet(w)
	if err != nil {
		w.alone(err)
	}
	return w.train(meeting, state)
}

func (w *worker) train(m *meeting, state string) error {
	for {
		w.obey()
		last, err := m.together(w.at.Step + 1)
		if err != nil {
			w.alone(err)
		}
		time.Sleep(w.pace)
		w.at.Step++
		state = history.State(state, w.at.Step)
		w.write(history.Stepped, "", "")
		if w.notify != nil {
			_, _ = fmt.Fprintf(w.notify, "X_GANGRUN_STEP=%d\n", w.at.Step)
		}
		if w.at.Step%50 == 0 {
			fmt.Printf("step %d, loss %.8s\n", w.at.Step, state)
		}
		if saver := w.at.Rank == 0 || w.own && number("LOCAL_RANK") == 0; saver && w.at.Step%w.every == 0 {
			w.save(state)
		}
		if last {
			w.write(history.Done, state, "")
			return m.leave()
		}
	}
}

// lateBy is how long a save may last that is cut when all others have long saved theirs.
const lateBy = 700 * time.Millisecond

// save leaves a checkpoint as torch does. A disk that is full takes none: training goes on, as it does with a program
// that looks at what its save returns.
func (w *worker) save(state string) {
	w.write(history.Save, "", "")
	path := filepath.Join(w.saves, fmt.Sprintf("ckpt_%d.pt", w.at.Step))
	err := store(path, w.at.Round, w.at.Step, state, w.renames, func() {
		late := w.orders.tearLate.Load()
		if late {
			time.Sleep(lateBy)
		}
		if late || w.orders.tear.Load() {
			w.write(history.Cut, "", "")
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			forever()
		}
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot save:", err)
		return
	}
	w.write(history.Saved, "", "")
}

func (w *worker) write(kind history.Kind, state, text string) {
	r := w.at
	r.At, r.Kind, r.State, r.Text = history.Now(), kind, state, text
	line, err := json.Marshal(r)
	if err == nil {
		_, err = w.log.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(99)
	}
}

// alone is what a rank does whose peers are gone, as collectives do: it fails with what gloo says, or never returns.
func (w *worker) alone(err error) {
	w.write(history.Lost, "", err.Error())
	if w.hangs && w.seen() {
		forever()
	}
	fmt.Fprintln(os.Stderr, "Traceback (most recent call last):\n  File \"/app/train.py\", line 9, in <module>\n    dist.all_reduce(x)")
	fmt.Fprintln(os.Stderr, "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:31337")
	os.Exit(1)
}

// seen reports whether gangrun has seen enough steps to tell a hang: before two of them it knows no limit.
func (w *worker) seen() bool { return w.at.Step >= w.first+4 }

// obey does what the test has said meanwhile.
func (w *worker) obey() {
	switch {
	case w.orders.hang.Load() && w.seen():
		forever()
	case w.orders.fail.Load():
		fmt.Fprintln(os.Stderr, "Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in <module>\n    main()\nValueError: the loss is not a number")
		os.Exit(1)
	case w.orders.eat.Load():
		for eaten := []byte{}; ; {
			eaten = append(eaten, bytes.Repeat([]byte{1}, 1+len(eaten))...)
		}
	}
}

// listen opens the way by which the test talks to this process, and knows its id.
func (w *worker) listen() error {
	conn, err := net.Dial("unix", filepath.Join(w.dir, "test"))
	if err != nil {
		return err
	}
	if err := json.NewEncoder(conn).Encode(w.at); err != nil {
		return err
	}
	go func() {
		for line := make([]byte, 64); ; {
			n, err := conn.Read(line)
			if err != nil {
				return
			}
			switch strings.TrimSpace(string(line[:n])) {
			case "hang":
				w.orders.hang.Store(true)
			case "tear":
				w.orders.tear.Store(true)
			case "tear late":
				w.orders.tearLate.Store(true)
			case "fail":
				w.orders.fail.Store(true)
			case "eat":
				w.orders.eat.Store(true)
			}
		}
	}()
	return nil
}

// startHelper starts a child as data loaders and compilers do, that nobody but a good init ends.
func (w *worker) startHelper() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, append([]string{"-helps"}, os.Args[1:]...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

func forever() {
	for {
		time.Sleep(time.Hour)
	}
}
