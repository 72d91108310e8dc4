"""A training that says its steps to everybody: it prints a line for each, in pieces, and tells gangrun. FAIL=round:rank:step
kills that rank there."""

import os
import signal
import socket
import sys
import time

rank, round_ = int(os.environ["RANK"]), int(os.environ["GANGRUN_ROUND"])
gangrun = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for step in range(1, int(os.environ["STEPS"]) + 1):
    time.sleep(float(os.environ["STEP_TIME"]))
    for piece in (f"step {step}", " of rank ", f"{rank}\n"):
        sys.stdout.write(piece)
        sys.stdout.flush()
    gangrun.sendto(f"X_GANGRUN_STEP={step}\nX_GANGRUN_RANK={rank}".encode(), os.environ["NOTIFY_SOCKET"])
    if os.environ.get("FAIL") == f"{round_}:{rank}:{step}":
        os.kill(os.getpid(), signal.SIGKILL)
