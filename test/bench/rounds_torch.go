package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// torchRendezvous makes a number of torch's rendezvous handlers, each in a thread of its own with a connection of its
// own, go through a number of rounds, all at once, and prints the milliseconds of each. Its backend is c10d, torchrun's
// own. The threads take turns, as Python's do: with many nodes, processes of their own would need less time.
const torchRendezvous = `
import sys, threading, time
from datetime import timedelta
from torch.distributed import TCPStore
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler

nodes, rounds = int(sys.argv[1]), int(sys.argv[2])
wait = timedelta(seconds=60)
server = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=wait)

def connect():
    return TCPStore("127.0.0.1", server.port, is_master=False, wait_for_workers=False, timeout=wait)

def handler():
    store = connect()
    backend = C10dRendezvousBackend(store, "bench")
    return DynamicRendezvousHandler.from_backend("bench", store, backend, nodes, nodes, local_addr="127.0.0.1")

handlers = [handler() for _ in range(nodes)]
ready = threading.Barrier(nodes + 1)
done = threading.Barrier(nodes + 1)
errors = []

def node(h):
    try:
        for _ in range(rounds + 1):
            ready.wait(300)
            h.next_rendezvous()
            done.wait(300)
    except BaseException as e:
        errors.append(e)
        ready.abort()
        done.abort()

threads = [threading.Thread(target=node, args=(h,), daemon=True) for h in handlers]
for t in threads:
    t.start()
try:
    for i in range(rounds + 1):
        ready.wait(300)
        began = time.monotonic()
        done.wait(300)
        if i:  # the first one waits on purpose
            print((time.monotonic() - began) * 1e3, flush=True)
except threading.BrokenBarrierError:
    sys.exit(f"the rendezvous has failed: {errors}")
for t in threads:
    t.join()
sys.stdout.flush()
import os
os._exit(0)  # the handlers' own threads go on
`

// torchRounds measures torch's rendezvous for so many nodes. Its time begins when every node takes part; that one has
// failed, torchrun's other nodes have to notice before.
func (l *lab) torchRounds(torchrun string, nodes, rounds int) ([]float64, error) {
	ctx, cancel := context.WithTimeout(l.ctx, 5*patience)
	defer cancel()
	python := filepath.Join(filepath.Dir(torchrun), "python3")
	cmd := exec.CommandContext(ctx, python, "-c", torchRendezvous, strconv.Itoa(nodes), strconv.Itoa(rounds))
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, said.Bytes())
	}
	var took []float64
	for word := range strings.FieldsSeq(string(out)) {
		value, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, fmt.Errorf("it has printed %q: %w", word, err)
		}
		took = append(took, value)
	}
	if len(took) != rounds {
		return nil, fmt.Errorf("it has printed %d times, want %d", len(took), rounds)
	}
	return took, nil
}
