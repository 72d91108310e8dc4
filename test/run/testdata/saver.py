"""A training that, told to stop, says that it saves a checkpoint, for as long as the test likes: SIGUSR2 ends that.

With the argument "stays" it does not exit then.
"""
import os, signal, socket, sys

gangrun = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def say(text):
    print(text, flush=True)


def phase(name):
    gangrun.sendto(f"X_GANGRUN_PHASE={name}\nX_GANGRUN_RANK=0".encode(), os.environ["NOTIFY_SOCKET"])


calls = 0


def save():
    global calls
    calls += 1
    phase("checkpoint")
    say(f"saving, call {calls}")


def saved():
    phase("train")
    say("saved")
    if "stays" not in sys.argv:
        sys.exit(0)


told = {signal.SIGTERM: save, signal.SIGINT: save, signal.SIGUSR2: saved}
signal.pthread_sigmask(signal.SIG_BLOCK, told)  # pause() would sleep on if the signal came right before it
phase("train")
say("training")
while True:
    told[signal.sigwait(told)]()
