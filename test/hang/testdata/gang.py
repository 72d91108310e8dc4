"""Four ranks that add numbers up, step by step. At step 30 rank 2 hangs in one way or another, the first time."""

import atexit
import logging
import os
import signal
import socket
import sys
import threading
import time

import torch
import torch._C._distributed_c10d as c10d
import torch.distributed as dist

how, sign, steps = sys.argv[1], sys.argv[2], 30
dist.init_process_group("gloo")
rank = dist.get_rank()


def tell(text):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(text.encode(), os.environ["NOTIFY_SOCKET"])


def done(step):
    if sign == "told":
        tell(f"X_GANGRUN_STEP={step}")
    elif sign == "lines":
        print(f"step: {step} done", flush=True)
    else:
        print("something was done", flush=True)


def phase(name):
    tell(f"X_GANGRUN_PHASE={name}")


def stuck():
    print(f"stuck at {time.time():.3f}", flush=True)


def sleep_in_step():
    stuck()
    time.sleep(1000)


def spin_in_c():
    stuck()
    exponent = 3 * 10**8
    return 3**exponent  # minutes, within which the lock of the interpreter is not given up


def leaves_the_collective():
    stuck()
    dist.recv(torch.empty(1), src=0)  # which nobody sends


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, i):
        return i


def load(batches):
    return next(batches)


def destroy_process_group():
    if how == "linger":
        tell("STOPPING=1")
    if rank == 2 and how in ("destroy", "linger"):
        stuck()
        time.sleep(1000)
    dist.destroy_process_group()


batches = None
if how == "loader" and rank == 2:
    batches = iter(torch.utils.data.DataLoader(Numbers(), num_workers=1, prefetch_factor=1))

groups = [dist.new_group([0, 1]), dist.new_group([2, 3])] if how == "groups" else None
first, path = 0, os.environ.get("GANGRUN_RESUME_PATH")
if path:
    first = torch.load(path)["step"]
    print(f"resumed at {first}", flush=True)
if how == "healthy":
    time.sleep(6)
if how == "slow":  # rank 2 takes a fifth longer for its data; all then wait for it
    for step in range(1, 81):
        began = time.monotonic()
        time.sleep(0.12 if rank == 2 and step > int(os.environ.get("FAST_UNTIL", 0)) else 0.1)
        own = int((time.monotonic() - began) * 1e6)
        if sign == "late":
            tell(f"X_GANGRUN_STEP={step}")
        dist.all_reduce(torch.ones(1000))
        if sign == "own":
            tell(f"X_GANGRUN_STEP={step}\nX_GANGRUN_OWN_USEC={own}")
        if sign == "after":
            tell(f"X_GANGRUN_STEP={step}")
    if os.environ.get("TORCH_FR_DUMP_TEMP_FILE"):  # as torch's watchdog does of NCCL
        c10d._dump_fr_trace_file(rank)
        dist.barrier()
        sys.exit(1 if rank == 0 else 0)
    steps = 0
for step in range(first + 1, steps + 1):
    if rank == 2 and step == steps and os.environ["GANGRUN_ROUND"] == "0":
        if how == "sleep":
            sleep_in_step()
        if how == "spin":
            spin_in_c()
        if how == "dead":
            stuck()
            os.stat(os.environ["STUCK"])  # of a file server that never answers
        if how == "leave":
            leaves_the_collective()
        if how == "exit":
            stuck()
            if os.fork():  # the child keeps the connections, so that the others wait as those of NCCL do
                os._exit(0)
            time.sleep(1000)
        if how == "raise":
            atexit.register(time.sleep, 1000)
            stuck()
            time.sleep(0.2)  # what two pipes bring at once has no order
            raise ValueError("no such column")
        if how == "loader":
            os.kill(batches._workers[0].pid, signal.SIGSTOP)
            stuck()
            for _ in range(5):
                load(batches)
    if batches:
        load(batches)
    if groups:
        if step == steps and os.environ.get("TORCH_FR_DUMP_TEMP_FILE"):
            threading.Timer(1.5, c10d._dump_fr_trace_file, [rank]).start()  # as torch's watchdog does of NCCL
        if rank == 2 and step == steps:
            sleep_in_step()
        dist.all_reduce(torch.ones(1000), group=groups[rank // 2])
    total = torch.ones(1000)
    dist.all_reduce(total)
    time.sleep(0.05)
    if rank == 0 and step % 10 == 0 and os.environ.get("CHECKPOINTS"):
        state = {"model": {"w": total}, "optimizer": {"state": {}, "param_groups": []}, "step": step}
        file = os.path.join(os.environ["CHECKPOINTS"], f"step-{step}.pt")
        torch.save(state, file + ".part")
        os.rename(file + ".part", file)
    done(step)
    if how == "healthy" and step == 10:
        try:
            raise ValueError("a sample that is skipped")
        except ValueError:
            logging.exception("skipped")
        phase("eval")
        time.sleep(6)
        phase("train")
    if how == "healthy" and step == 20:
        phase("checkpoint")
        time.sleep(6 if rank == 0 else 0)
        dist.barrier()
        phase("train")
    if how == "saves" and step == 20:  # rank 0 says so, and the others, which wait for it, do not
        if rank == 0:
            phase("checkpoint")
            time.sleep(12)
        dist.barrier()
if how in ("healthy", "saves") or first:
    tell("STOPPING=1")  # the end of Python may take longer than a step, on a busy machine than the limit
destroy_process_group()
print("done", flush=True)
if how == "destroy":
    os._exit(0)  # else the ends of the others take as long there, and each of them is progress
