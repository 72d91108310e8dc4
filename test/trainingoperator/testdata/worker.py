#!/usr/bin/python3 -u
"""A training process that a test plays with: it tells the test where it stands, and then does what the test says."""
import json
import os
import signal
import socket
import sys

test = socket.socket(socket.AF_UNIX)
test.connect("/test/test")
test.sendall(json.dumps({"Env": dict(os.environ), "Args": sys.argv}).encode() + b"\n")
for line in test.makefile():
    do, _, what = line.strip().partition(" ")
    if do == "exit":
        sys.exit(int(what))
    elif do == "kill":  # itself
        os.kill(os.getpid(), int(what))
    elif do == "obey":  # leave with 0 when told to stop, as some trainers do
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    elif do == "save":  # a checkpoint of that step, whose marker comes last
        os.makedirs(f"/checkpoints/step-{what}")
        for name in ("weights", "complete"):
            with open(f"/checkpoints/step-{what}/{name}", "w") as file:
                file.write(what)
                file.flush()
                os.fsync(file.fileno())
    elif do == "say":
        print(what)
