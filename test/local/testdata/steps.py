"""Rank 1 reports the steps that are its arguments, one after the other, and waits for a signal unless "end" follows.

The other ranks wait for the end of rank 1; after an end without a failure nobody would stop them, so it leaves a file.
"""

import os
import signal
import socket
import sys
import time


def finish():
    open("finished", "w").close()
    sys.exit()


if os.environ["RANK"] == "1":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})  # pause() would sleep on if the signal came right before it
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        for word in sys.argv[1:]:
            if word == "end":
                finish()
            s.sendto(f"X_GANGRUN_STEP={word}".encode(), os.environ["NOTIFY_SOCKET"])
    print(f"got signal {signal.sigwait({signal.SIGUSR1})}", flush=True)
    finish()
while not os.path.exists("finished"):
    time.sleep(0.01)
