"""A training that, told to stop, says that it saves a checkpoint, for as long as the test likes: SIGUSR2 ends that.

With the argument "stays" it does not exit then.
"""
import os, signal, socket, sys

gangrun = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def phase(name):
    gangrun.sendto(f"X_GANGRUN_PHASE={name}\nX_GANGRUN_RANK=0".encode(), os.environ["NOTIFY_SOCKET"])


calls = 0


def save(number, frame):
    global calls
    calls += 1
    phase("checkpoint")
    print("saving, call", calls, flush=True)


def saved(number, frame):
    phase("train")
    print("saved", flush=True)
    if "stays" not in sys.argv:
        sys.exit(0)


signal.signal(signal.SIGTERM, save)
signal.signal(signal.SIGINT, save)
signal.signal(signal.SIGUSR2, saved)
phase("train")
print("training", flush=True)
while True:
    signal.pause()
