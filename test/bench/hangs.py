"""One of two ranks or more. It says when it starts, tells a step now and then, and on request rank 1 dies, the first time, in
step 20, or stands still there, and the others with it, as in a collective."""

import os
import socket
import sys
import time

how, folder, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
rank = os.environ["RANK"]


def note(what):
    with open(os.path.join(folder, "log"), "a") as f:
        f.write(f"{what} {rank} {time.clock_gettime_ns(time.CLOCK_MONOTONIC)}\n")


note("start")
with open(os.path.join(folder, "log")) as log:
    first = log.read().count("start") <= 2
if "FT_RANK_MONITOR_IPC_SOCKET" in os.environ:
    import nvidia_resiliency_ext.fault_tolerance as ft

    client = ft.RankMonitorClient()
    client.init_workload_monitoring()
    tell = lambda step: client.send_heartbeat()
else:
    out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    out.connect(os.environ["NOTIFY_SOCKET"])
    tell = lambda step: out.send(f"X_GANGRUN_STEP={step}".encode())
note("ready")
for step in range(1, 100_000):
    time.sleep(pause)
    tell(step)
    if step == 20 and first and how != "go":
        if rank == "1":
            note(how)
            if how == "kill":
                os.kill(os.getpid(), 9)
        time.sleep(1000)
