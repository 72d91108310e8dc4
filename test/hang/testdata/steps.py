"""A rank that tells a step every half second, and how much of it was its own: the first argument, for as long as the second says.
Both are in seconds."""

import os
import socket
import sys
import time

own, length = float(sys.argv[1]), float(sys.argv[2])
out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
out.connect(os.environ["NOTIFY_SOCKET"])
began = time.monotonic()
step = 0
while time.monotonic() - began < length:
    time.sleep(0.5)
    step += 1
    out.send(f"X_GANGRUN_STEP={step}\nX_GANGRUN_OWN_USEC={int(own * 1e6)}".encode())
