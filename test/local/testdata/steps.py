"""Rank 1 reports the steps that are its arguments, one after the other, and waits for a signal unless "end" follows.

The other ranks wait for the end of rank 1; after an end without a failure nobody would stop them, so it leaves a file.
"""

import os
import signal
import socket
import sys
import time


def got(number, frame):
    print(f"got signal {number}", flush=True)
    finish()


def finish():
    open("finished", "w").close()
    sys.exit()


if os.environ["RANK"] == "1":
    signal.signal(signal.SIGUSR1, got)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        for word in sys.argv[1:]:
            if word == "end":
                finish()
            s.sendto(f"X_GANGRUN_STEP={word}".encode(), os.environ["NOTIFY_SOCKET"])
    while True:
        signal.pause()
while not os.path.exists("finished"):
    time.sleep(0.01)
