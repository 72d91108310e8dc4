// Bench measures gangrun beside the programs that it takes the place of: other inits and torchrun. It prints, for each
// of the project's budgets, what was measured and what the others needed in the same run.
//
//	go run ./test/bench                    everything; about fourteen minutes
//	go run ./test/bench -only start,rules  only these
//	go run ./test/bench -quick             a few rounds of everything, to see that it still works
//	go run ./test/bench -beside /tmp/old   also another gangrun, to compare the two
//
// The programs take turns, so that noise of the machine hits all alike, and medians are shown. A budget that is not
// kept is no failure of this program: what a time is worth depends on the machine. It exits with 1 when something
// could not be measured or came to a wrong end.
//
// test/peers/install inits torch nvrx provides the other programs; those that are not there are left out. The orphans and
// the start as PID 1 need root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

var measurements = []struct {
	name, of string
	measure  func(*lab) error
}{
	{"size", "what is installed", (*lab).size},
	{"start", "start to the worker's first instruction, and a whole run", (*lab).start},
	{"inits", "what the packages of gangrun need to be initialised", (*lab).packageInits},
	{"memory", "resident memory while nothing happens", (*lab).memory},
	{"restart", "death of a worker to its successor's first instruction", (*lab).restart},
	{"launch", "two ranks under launch: start, restart, and the memory beside eight", (*lab).launch},
	{"hangs", "a rank that dies or stands still to its successor, and what it takes to watch", (*lab).hangs},
	{"verdicts", "forty failures of real programs: who tries again those that it can help, and only those", (*lab).verdicts},
	{"output", "a gibibyte of output through gangrun", (*lab).output},
	{"rules", "the log rules on a line that none of them fits", (*lab).rules},
	{"checkpoints", "choosing a checkpoint among many, of a large one, and in an object store", (*lab).checkpoints},
	{"orphans", "ten thousand orphans at once", (*lab).orphans},
	{"rounds", "a failure on one node to the next round on all of them", (*lab).gangRounds},
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == orphansWorker {
		os.Exit(workOrphans(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == etcdServing {
		fmt.Fprintln(os.Stderr, "etcd:", serveEtcd(os.Args[2]))
		os.Exit(1)
	}
	if len(os.Args) == 3 && os.Args[1] == partiesServing {
		if err := serveParties(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "nodes:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	var names []string
	about := "only these, separated by commas:"
	for _, m := range measurements {
		names = append(names, m.name)
		about += fmt.Sprintf("\n%-11s %s", m.name, m.of)
	}
	only := flag.String("only", "", about)
	rounds := flag.Int("n", 0, "rounds of each measurement; 0: as many as it needs")
	quick := flag.Bool("quick", false, "a few small rounds, to see that everything works")
	nodes := flag.Int("nodes", 0, "rounds: only of jobs of so many nodes; 0: of all sizes")
	beside := flag.String("beside", "", "other gangrun binaries to measure beside this tree's, separated by commas")
	flag.Parse()
	chosen := names
	if *only != "" {
		chosen = strings.Split(*only, ",")
	}
	for _, name := range chosen {
		if !slices.Contains(names, name) {
			return fmt.Errorf("-only %s: want some of %s", name, strings.Join(names, ", "))
		}
	}
	if flag.NArg() > 0 || *rounds < 0 {
		return errors.New("want only flags, and a number of rounds that is not negative; see -help")
	}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	defer stop()
	l, err := newLab(ctx, *beside)
	if err != nil {
		return err
	}
	defer l.close()
	l.rounds, l.quick, l.nodes = *rounds, *quick, *nodes
	l.introduce()
	var failed []error
	for _, m := range measurements {
		if !slices.Contains(chosen, m.name) {
			continue
		}
		began := time.Now()
		l.warnOfLoad()
		if err := m.measure(l); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			failed = append(failed, fmt.Errorf("%s: %w", m.name, err))
			fmt.Printf("\n%s: not measured: %v\n", m.name, err)
			continue
		}
		fmt.Printf("(%s took %.0f s)\n", m.name, time.Since(began).Seconds())
	}
	return errors.Join(failed...)
}
