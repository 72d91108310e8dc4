"""A training that counts steps, saves nothing, and fails as it is told: FAIL=round:who:step:how, separated by spaces, who is a
rank or a node. It ends after STEPS steps, or when there is a file FINISH."""

import os
import signal
import socket
import time

rank, round_ = int(os.environ.get("RANK", 0)), int(os.environ["GANGRUN_ROUND"])
me = os.environ["RANK"] if "RANK" in os.environ else os.environ["GANGRUN_NODE_NAME"]
gangrun = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
faults = [f.split(":") for f in os.environ.get("FAIL", "").split()]
for step in range(1, int(os.environ.get("STEPS", 20)) + 1):
    if os.path.exists(os.environ.get("FINISH", "")):
        break
    time.sleep(float(os.environ.get("STEP_TIME", 0.05)))
    gangrun.sendto(f"X_GANGRUN_STEP={step}\nX_GANGRUN_RANK={rank}".encode(), os.environ["NOTIFY_SOCKET"])
    for at, who, when, how in faults:
        if (int(at), who, int(when)) == (round_, me, step):
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "raise":
                raise MemoryError("<script>alert('hostile')</script>\x1b[2J")
