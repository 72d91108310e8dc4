"""Trains through every phase of a real job: compile, warm-up, steps, evaluations, saves. Ranks tell which they are in.

Arguments: the directory of examples/, that of the checkpoints, and the last step.
"""

import os
import sys
import time

examples, directory, last = sys.argv[1:]
sys.path += [os.path.join(examples, "save"), os.path.join(examples, "train")]
import checkpoints
import report
from stop import stops_at

ROUND, RANK = os.environ["GANGRUN_ROUND"], int(os.environ["RANK"])


def tell(text):
    print(f"round {ROUND} rank {RANK}: {text}.", flush=True)


chosen = os.environ.get("GANGRUN_RESUME_STEP")
start = int(chosen or 0)
if os.environ.get("BLIND") is None:
    stops_at(start)
tell("looks")

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
torch.manual_seed(1)
dist.init_process_group("gloo")
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
model = DistributedDataParallel(net)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
state = checkpoints.load(None, ".pt", lambda path: torch.load(path, weights_only=True))
if state:
    net.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    assert state["step"] == start, (state["step"], start)
tell(f"begins at step {start}")


def save(step):
    if RANK == 0:
        state = {"step": step, "model": net.state_dict(), "optimizer": optimizer.state_dict()}
        checkpoints.save(directory, step, ".pt", lambda f: torch.save(state, f))
        time.sleep(0.3)
    dist.barrier()


def train(step):
    x = torch.randn(16, 8, generator=torch.Generator().manual_seed(step * 1000 + RANK))
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()


for step in range(start + 1, int(last) + 1):
    count = step - start
    if count == 1:
        tell("compile")
        time.sleep(0.5)
        if os.environ.get("COMPILE"):
            model = torch.compile(model, backend="eager")
    elif count == 2:
        tell("warm-up")
    train(step)
    time.sleep(0.2 if count < 5 else 0.02)
    if count == 6:
        tell("step")
    if count % 25 == 0:
        tell("eval")
        for _ in range(20):
            net(torch.randn(16, 8))
            time.sleep(0.03)
    if count % 35 == 0:
        tell("save")
        save(step)
    if os.environ.get("BLIND"):
        report.step(step)
    elif stops_at(step):
        save(step)
        tell(f"saved at step {step}")
        break
dist.destroy_process_group()
