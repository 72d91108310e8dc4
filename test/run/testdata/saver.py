"""A training that, told to stop, says that it saves a checkpoint, for as long as the test likes: SIGUSR2 ends that.

With the argument "stays" it does not exit then.
"""
import os, signal, socket, sys

gangrun = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def say(text):
    os.write(1, text.encode() + b"\n")  # whole: a handler may come in between two writes of one print


def phase(name):
    gangrun.sendto(f"X_GANGRUN_PHASE={name}\nX_GANGRUN_RANK=0".encode(), os.environ["NOTIFY_SOCKET"])


calls = 0


def save(number, frame):
    global calls
    calls += 1
    phase("checkpoint")
    say(f"saving, call {calls}")


def saved(number, frame):
    phase("train")
    say("saved")
    if "stays" not in sys.argv:
        sys.exit(0)


signal.signal(signal.SIGTERM, save)
signal.signal(signal.SIGINT, save)
signal.signal(signal.SIGUSR2, saved)
phase("train")
say("training")
while True:
    signal.pause()
