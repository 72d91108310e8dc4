"""A rank that takes its time in one way or another, and gets on: steps of STEP seconds, and something that takes LONG."""

import logging
import os
import signal
import socket
import sys
import time

how, tells = sys.argv[1], sys.argv[2] == "told"
rank, pause, long = int(os.environ["RANK"]), float(os.environ["STEP"]), float(os.environ["LONG"])
restarted = os.environ["GANGRUN_ROUND"] != "0"


def tell(text):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(text.encode(), os.environ["NOTIFY_SOCKET"])


def phase(name):
    if tells:
        tell(f"X_GANGRUN_PHASE={name}")


def moves(seconds):
    """Reads and writes a megabyte every second, as who evaluates or saves does, and says nothing of it."""
    with open(os.path.join(os.environ["FOLDER"], f"data-{rank}"), "w+b") as file:
        for _ in range(int(seconds)):
            file.write(bytes(1 << 20))
            file.seek(0)
            file.read()
            time.sleep(1)


def work(seconds):
    """What is told is silent; else it moves bytes."""
    if tells:
        time.sleep(seconds)
    else:
        moves(seconds)


for step in range(1, 13):
    if step == 1 and (how == "first" or how == "recompile" and restarted):
        time.sleep(long)
    if step == 6 and how == "recompile" and not restarted and rank == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    if step == 6 and how == "stopped":
        print("stop me", flush=True)
    for _ in range(round(pause * 10)):
        time.sleep(0.1)  # a step whose rest is still to do after it was stopped
    if how == "traceback":  # of which no steps are told
        print("something was done", flush=True)
    else:
        tell(f"X_GANGRUN_STEP={step}")
    if step == 6 and how == "eval":
        phase("eval")
        work(long)
        phase("train")
    if step == 6 and how == "checkpoint" and rank == 0:
        phase("checkpoint")
        work(long)
        phase("train")
    elif step == 6 and how == "checkpoint":
        time.sleep(long)  # in the barrier
    if step == 6 and how == "traceback":
        try:
            raise ValueError("a sample that is skipped")
        except ValueError:
            logging.exception("skipped")
        time.sleep(long)
if how == "final" and rank == 0:
    moves(long)
print("done", flush=True)
