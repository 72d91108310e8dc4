"""Two or more ranks that train over gloo until the rank named by --rank fails in the way named by --fail.

Prints "step N" to standard output after each step, which is what the driver waits for before it sends a signal.
"""

import argparse
import ctypes
import faulthandler
import importlib
import os
import resource
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel


def fail(how):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "term":
        os.kill(os.getpid(), signal.SIGTERM)
    elif how == "segv":
        ctypes.string_at(0)
    elif how == "segv-faulthandler":
        faulthandler.enable()
        ctypes.string_at(0)
    elif how == "abort":
        os.abort()
    elif how == "value-error":
        raise ValueError("learning rate must be positive, got -1.0")
    elif how == "import":
        importlib.import_module("flash_attention_that_is_not_here")
    elif how.startswith("exit-"):
        sys.exit(int(how.removeprefix("exit-")))
    elif how == "memory":
        torch.empty(1 << 46)
    elif how == "memory-limit":
        resource.setrlimit(resource.RLIMIT_AS, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,) * 2)
        bytearray(1 << 36)
    elif how == "allocate":
        hoard = []
        while True:
            hoard.append(b"x" * (16 << 20))
    elif how == "sleep":
        time.sleep(3600)
    elif how == "shapes":
        torch.nn.Linear(8, 8)(torch.randn(4, 7))
    elif how == "index":
        torch.nn.Embedding(10, 4)(torch.tensor([11]))
    elif how == "nan":
        with torch.autograd.detect_anomaly():
            x = torch.tensor([-1.0], requires_grad=True)
            torch.sqrt(x).sum().backward()
    elif how == "collective-size":
        dist.all_reduce(torch.ones(3))
        dist.all_gather([torch.ones(2), torch.ones(2)], torch.ones(5))
    elif how == "cuda":
        torch.ones(1).cuda()
    elif how == "leave":
        dist.destroy_process_group()
        sys.exit(0)
    else:
        raise SystemExit(f"unknown way to fail: {how}")


def train(args):
    if "ignore-term" in args.also:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    backend = "nccl" if args.fail == "nccl" else "gloo"
    dist.init_process_group(backend, timeout=timedelta(seconds=args.timeout))
    rank = dist.get_rank()
    model = DistributedDataParallel(torch.nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, args.steps + 1):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step()
        print("step", step, flush=True)
        if step == 3 and args.fail and args.rank in (rank, -1):
            fail(args.fail)
        if step == 3 and "barrier" in args.also:
            dist.monitored_barrier(timeout=timedelta(seconds=args.timeout))
        if step > 3:
            time.sleep(0.05)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fail")
    parser.add_argument("--rank", type=int, default=-1, help="-1: every rank")
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--timeout", type=float, default=300, help="of collectives, seconds")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--also", default="")
    arguments = parser.parse_args()
    (record(train) if arguments.record else train)(arguments)
