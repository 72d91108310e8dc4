"""A trainer that knows it is restarted: TORCHELASTIC_RESTART_COUNT decides whether it looks for a snapshot, and it
saves one after each step. In its first attempt the last rank is lost before step 3."""

import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


@record
def main():
    snapshot, steps = sys.argv[1], int(sys.argv[2])
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    assert attempt <= int(os.environ["TORCHELASTIC_MAX_RESTARTS"])
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(3)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    first = 0
    if attempt > 0:
        state = torch.load(snapshot, weights_only=True)
        first = state["step"]
        model.module.load_state_dict(state["model"])
        if rank == 0:
            print(f"attempt {attempt} goes on at step {first}", flush=True)
    for step in range(first, steps):
        if attempt == 0 and step == 3 and rank == world - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        x = torch.arange(4.0) + rank + step
        loss = (model(x) - x.sum()).square().mean() / 1000
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            torch.save({"step": step + 1, "model": model.module.state_dict()}, snapshot + ".new")
            os.rename(snapshot + ".new", snapshot)
        dist.barrier()
    if rank == 0:
        print(f"final loss {loss.item():.6f} at step {steps}", flush=True)
    dist.destroy_process_group()
    sys.stdout.flush()
    # Not through the interpreter's end: now and then torch aborts there ("terminate called without an active exception"),
    # after everything has been said and done.
    os._exit(0)


main()
