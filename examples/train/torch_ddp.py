#!/usr/bin/env python3
"""A small PyTorch model trained with DistributedDataParallel over gloo, on the CPU.

Started by torchrun (or by gangrun launch, which sets the same variables); alone it is a gang of one. The result
depends on the seed, the number of steps and the number of ranks, and not on interruptions.
"""

import io
import os
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import checkpoints
import report
import switches
from dying import Death

FEATURES = 8
SAMPLES = 1024
BATCH = 16  # of each rank


def main(args):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    else:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    rank, world = dist.get_rank(), dist.get_world_size()
    death = Death(args, rank, world)

    torch.manual_seed(args.seed)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    measure = torch.nn.MSELoss()
    first = 1 + resume(args, rank, world, model, optimizer)
    data = make_data(args.seed)
    loader = DataLoader(data, batch_sampler=Batches(first, args.steps, args.seed, rank, world),
                        num_workers=args.workers)
    for step, (x, y) in enumerate(loader, first):
        time.sleep(args.step_time)
        death.at(step)
        optimizer.zero_grad()
        loss = measure(model(x), y)
        loss.backward()
        optimizer.step()
        report.step(step)
        if switches.due(step, args.log_every):
            dist.all_reduce(loss := loss.detach() / world)
            if rank == 0:
                print(f"step {step} loss {loss.item():.6f}", flush=True)
        if rank == 0 and args.checkpoint_dir and switches.due(step, args.checkpoint_every):
            save(args, step, model, optimizer)
    if rank == 0:
        with torch.no_grad():
            loss = measure(model.module(data.tensors[0]), data.tensors[1]).item()
        print(f"final loss {loss:.9f} step {max(args.steps, first - 1)}", flush=True)
    # Without it a rank that ends early would look like a failure to the others.
    dist.barrier()
    dist.destroy_process_group()


class Batches:
    """The indices of this rank's batches; each a function of seed and step, so a resumed run sees the same ones."""

    def __init__(self, first, last, seed, rank, world):
        self.steps, self.seed, self.rank, self.world = range(first, last + 1), seed, rank, world

    def __len__(self):
        return len(self.steps)

    def __iter__(self):
        for step in self.steps:
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + step)
            indices = torch.randperm(SAMPLES, generator=generator)[:BATCH * self.world]
            yield indices[self.rank::self.world].tolist()


def make_data(seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(SAMPLES, FEATURES, generator=generator)
    slope = torch.randn(FEATURES, 1, generator=generator)
    noise = torch.randn(SAMPLES, 1, generator=generator)
    return TensorDataset(x, torch.tanh(x @ slope) + 0.1 * noise)


def save(args, step, model, optimizer):
    state = {"step": step, "seed": args.seed,
             "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
    checkpoints.save(args.checkpoint_dir, step, ".pt", lambda f: torch.save(state, f))


def resume(args, rank, world, model, optimizer):
    """Loads what rank 0 has found into every rank, and returns its step (0 at a first start)."""
    found = [checkpoints.load(args.checkpoint_dir, ".pt", read) if rank == 0 else None]
    dist.broadcast_object_list(found, src=0)
    state = found[0]
    if state is None:
        if rank == 0:
            print(f"starting from step 0 with {world} ranks", flush=True)
        return 0
    if state["seed"] != args.seed:
        raise RuntimeError(f"the checkpoint of step {state['step']} is of seed {state['seed']}, not {args.seed}")
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    if rank == 0:
        print(f"resumed from step {state['step']}", flush=True)
    return state["step"]


def read(path):
    with open(path, "rb") as f:
        content = io.BytesIO(f.read())
    try:
        return torch.load(content, weights_only=True)
    except Exception as e:  # zip, pickle and torch each have their own
        raise ValueError(f"torch cannot load it: {type(e).__name__}") from e


def parse():
    p = switches.parser("Train a small model with DistributedDataParallel; to be started by torchrun.")
    p.add_argument("--workers", type=int, default=0, metavar="N", help="DataLoader worker processes of each rank")
    p.add_argument("--record", action="store_true", help="write an exception to torchrun's error file")
    return p.parse_args()


if __name__ == "__main__":
    arguments = parse()
    record(main)(arguments) if arguments.record else main(arguments)
