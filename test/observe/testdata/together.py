"""Nodes that train in step, as collectives make them: none goes on to the next step before all of its round have done
this one. The first saves a checkpoint every five steps. FAIL=round:node:step:how, separated by spaces, has one fail before it
has done that step. Nobody waits for one of NODES that has a file LOST-node. It ends once there is a file FINISH."""

import os
import signal
import socket
import time

round_, me = int(os.environ["GANGRUN_ROUND"]), os.environ["GANGRUN_NODE_NAME"]
directory, finish = os.environ["SHARED"], os.environ["FINISH"]
faults = {(int(r), who, int(step)): how for r, who, step, how in (f.split(":") for f in os.environ["FAIL"].split())}
gangrun = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def done(node):
    try:
        with open(f"{directory}/{round_}-{node}") as f:
            return int(f.read())
    except FileNotFoundError:
        return 0


def behind(step):
    return any(done(n) < step and not os.path.exists(f"{directory}/LOST-{n}") for n in os.environ["NODES"].split())


def write(path, text):
    with open(path + ".new", "w") as f:
        f.write(text)
    os.replace(path + ".new", path)


def save(step, whole=True):
    path = f"{os.environ['CHECKPOINTS']}/step-{step}"
    os.makedirs(path, exist_ok=True)
    write(path + "/state", "x" * 1000)
    if whole:
        write(path + "/DONE", "")


step = int(os.environ.get("GANGRUN_RESUME_STEP") or 0)
while not os.path.exists(finish):
    step += 1
    time.sleep(0.05)
    how = faults.get((round_, me, step))
    if how == "raise":
        raise MemoryError("<script>alert('hostile')</script>\x1b[2J")
    if how == "hang":
        time.sleep(1000)
    if how == "tear":
        save(step, whole=False)
    if how in ("kill", "tear"):
        os.kill(os.getpid(), signal.SIGKILL)
    gangrun.sendto(f"X_GANGRUN_STEP={step}".encode(), os.environ["NOTIFY_SOCKET"])
    write(f"{directory}/{round_}-{me}", str(step))
    while behind(step) and not os.path.exists(finish):
        time.sleep(0.01)
    if me == "n0" and step % 5 == 0:
        save(step)
