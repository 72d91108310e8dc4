"""A training that counts steps, saves nothing, and fails as it is told: FAIL=round:rank:step:how, separated by spaces."""

import os
import signal
import socket
import time

rank, round_ = int(os.environ.get("RANK", 0)), int(os.environ["GANGRUN_ROUND"])
gangrun = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
faults = [f.split(":") for f in os.environ.get("FAIL", "").split()]
for step in range(1, int(os.environ.get("STEPS", 20)) + 1):
    time.sleep(float(os.environ.get("STEP_TIME", 0.05)))
    gangrun.sendto(f"X_GANGRUN_STEP={step}\nX_GANGRUN_RANK={rank}".encode(), os.environ["NOTIFY_SOCKET"])
    for at, who, when, how in faults:
        if (int(at), int(who), int(when)) == (round_, rank, step):
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "raise":
                raise MemoryError("<script>alert('hostile')</script>\x1b[2J")
