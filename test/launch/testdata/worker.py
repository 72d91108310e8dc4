"""Small workers, each made for one scenario: worker.py NAME. They say what they are doing on standard output."""

import os
import signal
import subprocess
import sys
import time


def say(text):
    os.write(1, text.encode() + b"\n")


def stop():
    """Saves when asked to stop."""
    on(signal.SIGTERM, "saved")


def usr1():
    """Ends on SIGUSR1, as one that SLURM warns of the end of its time."""
    on(signal.SIGUSR1, "got SIGUSR1")


def on(sig, text):
    def end(*_):
        say(text)
        sys.exit(0)
    signal.signal(sig, end)
    say("ready")
    while True:
        time.sleep(0.05)  # pause() would sleep on if the signal came right before it


def listen():
    """Tells which signal it gets, and ends."""
    def end(number, _):
        say(f"got {signal.Signals(number).name}")
        sys.exit(0)
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(sig, end)
    say("ready")
    while True:
        time.sleep(0.05)  # pause() would sleep on if the signal came right before it


def orphan():
    """Crashes while a process that it has started goes on."""
    say(f"child {sleeper().pid}")
    crash()


def crash():
    os.kill(os.getpid(), signal.SIGKILL)


def sleeper():
    nothing = subprocess.DEVNULL
    return subprocess.Popen(["sleep", "1000"], stdin=nothing, stdout=nothing, stderr=nothing)


def loader():
    """Looks, when it is asked to stop, whether it still has the process that loads its data."""
    process = sleeper()

    def end(*_):
        try:
            process.wait(timeout=1)
            say("the loader is gone")
        except subprocess.TimeoutExpired:
            say("the loader is there")
            process.kill()
            process.wait()
        sys.exit(0)
    signal.signal(signal.SIGTERM, end)
    say("ready")
    while True:
        time.sleep(0.05)  # pause() would sleep on if the signal came right before it


def errand():
    """Ends when it is told to by a file."""
    say("ready")
    while not os.path.exists(os.environ["PROBE_DIR"] + "/go"):
        time.sleep(0.01)
    say("finished")


def torn():
    """Makes a pause within a line."""
    os.write(1, b"first half, ")
    time.sleep(0.5)
    os.write(1, b"second half\n")


def stubborn():
    """Does not stop when asked to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    idle()


def idle():
    say(f"worker {os.getpid()} is ready")
    while True:
        time.sleep(0.05)  # pause() would sleep on if the signal came right before it


def port():
    """Fails once, and tells its port each time."""
    say(f"attempt {os.environ['TORCHELASTIC_RESTART_COUNT']} port {os.environ['MASTER_PORT']}")
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        crash()


def keys():
    """Fails once, and leaves a key behind in the store where ranks find each other."""
    from torch.distributed import rendezvous
    store, _, _ = next(rendezvous("env://"))
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    say(f"attempt {attempt} finds the key: {store.check(['left behind'])}")
    store.set("left behind", "x")
    if attempt == "0":
        crash()


def grow():
    """Waits for a second node; while it is alone a file makes it fail."""
    say(f"nodes: {os.environ['GROUP_WORLD_SIZE']}")
    while os.environ["GROUP_WORLD_SIZE"] == "1":
        if os.path.exists(os.environ["PROBE_DIR"] + "/fail"):
            crash()
        time.sleep(0.01)


def second():
    """Fails on the second node and goes on on the first."""
    if os.environ["GROUP_RANK"] == "1":
        while not os.path.exists(os.environ["PROBE_DIR"] + "/fail"):
            time.sleep(0.01)
        sys.exit(3)
    idle()


globals()[sys.argv[1]]()
