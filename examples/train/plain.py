#!/usr/bin/env python3
"""Data-parallel training with nothing but Python's standard library.

Logistic regression by gradient descent with momentum. Every rank computes the gradients of its share of each batch;
they are summed over all ranks through TCP. The result depends on the seed and the number of steps alone, to the last
bit: not on the number of ranks, and not on interruptions.
"""

import argparse
import json
import math
import random
import socket
import sys
import time

import checkpoints
import nproc
import report
import switches
from dying import Death
from gang import Gang

FEATURES = 8
SAMPLES = 1024
BATCH = 128
SHARDS = 16  # a batch is cut into so many shards, whatever the number of ranks, so the sums are always the same
RATE, MOMENTUM = 0.05, 0.9


def main():
    args = parse()
    if args.nproc:
        return nproc.launch(args.nproc)
    gang = Gang(socket.socket(fileno=args.listen_fd) if args.listen_fd is not None else None)
    death = Death(args, gang.rank, gang.world)
    data = make_data(args.seed)
    state = resume(args, gang)
    weights, velocity = state["weights"], state["velocity"]
    for step in range(state["step"] + 1, args.steps + 1):
        time.sleep(args.step_time)
        death.at(step)
        loss, gradient = reduce_gradient(gang, weights, batch(data, args.seed, step))
        velocity = [MOMENTUM * v - RATE * g for v, g in zip(velocity, gradient)]
        weights = [w + v for w, v in zip(weights, velocity)]
        report.step(step)
        if gang.rank == 0 and switches.due(step, args.log_every):
            print(f"step {step} loss {loss:.6f}", flush=True)
        if gang.rank == 0 and args.checkpoint_dir and switches.due(step, args.checkpoint_every):
            save(args, gang, {"step": step, "loss": loss, "weights": weights, "velocity": velocity})
    loss, _ = reduce_gradient(gang, weights, data)
    if gang.rank == 0:
        print(f"final loss {loss:.9f} step {max(args.steps, state['step'])}", flush=True)


def parse():
    p = switches.parser("Train a small model on one rank, or on the ranks that RANK and WORLD_SIZE tell of.")
    p.add_argument("--nproc", type=int, default=0, metavar="N", help="start N ranks on this machine and wait for them")
    p.add_argument("--listen-fd", type=int, help=argparse.SUPPRESS)
    return p.parse_args()


def make_data(seed):
    """Samples (features, label) with labels -1 and +1, mostly told apart by a plane, and a little noise."""
    r = random.Random(f"data {seed}")
    plane = [r.gauss(0, 1) for _ in range(FEATURES)]
    data = []
    for _ in range(SAMPLES):
        x = [r.gauss(0, 1) for _ in range(FEATURES)]
        data.append((x, 1 if dot(plane, x) + r.gauss(0, 0.5) > 0 else -1))
    return data


def batch(data, seed, step):
    """The samples of one step: a function of seed and step, so a resumed run sees what the first would have seen."""
    return random.Random(f"batch {seed} {step}").sample(data, BATCH)


def reduce_gradient(gang, weights, samples):
    """The mean loss and gradient over the samples, each rank having computed its shards of them."""
    mine = [shard_gradient(weights, samples[s::SHARDS]) for s in range(gang.rank, SHARDS, gang.world)]
    parts = gang.gather(mine)
    total = None
    if gang.rank == 0:
        shards = [shard for part in parts for shard in part]
        # fsum is exact: the order of the shards, and so the number of ranks, makes no difference.
        total = [math.fsum(column) / len(samples) for column in zip(*shards)]
    loss, *gradient = gang.broadcast(total)
    return loss, gradient


def shard_gradient(weights, samples):
    """The sums of the loss and of the gradient over some samples, in one list."""
    sums = [0.0] * (1 + FEATURES)
    for x, label in samples:
        margin = label * dot(weights, x)
        sums[0] += math.log1p(math.exp(-abs(margin))) + max(0.0, -margin)
        slope = -label / (1 + math.exp(min(margin, 700.0)))
        for i, value in enumerate(x):
            sums[1 + i] += slope * value
    return sums


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def save(args, gang, state):
    record = {**state, "seed": args.seed, "world": gang.world, "saved_at": time.time()}
    checkpoints.save(args.checkpoint_dir, state["step"], ".json", lambda f: f.write(json.dumps(record).encode()))


def resume(args, gang):
    """The state to begin with: rank 0 decides and sends it to all, so that every rank begins at the same step."""
    state = None
    if gang.rank == 0:
        state = checkpoints.load(args.checkpoint_dir, ".json", read)
        if state is None:
            print(f"starting from step 0 with {gang.world} ranks", flush=True)
            state = {"step": 0, "seed": args.seed, "weights": [0.0] * FEATURES, "velocity": [0.0] * FEATURES}
        elif state["seed"] != args.seed:
            raise RuntimeError(f"the checkpoint of step {state['step']} is of seed {state['seed']}, not {args.seed}")
        else:
            print(f"resumed from step {state['step']}", flush=True)
    return gang.broadcast(state)


def read(path):
    with open(path, encoding="utf-8") as f:
        state = json.load(f)
    if not isinstance(state, dict) or not {"step", "seed", "weights", "velocity"} <= state.keys():
        raise ValueError("it lacks a part of the state")
    return state


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ConnectionError as e:  # where another rank's end was noticed is no news; the line is as a traceback ends
        sys.exit(f"ConnectionError: {e}")
