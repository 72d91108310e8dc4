"""A gang of two that fails in a chosen way; the rank that does not fail waits until it is stopped."""

import os
import signal
import sys
import time

HOW = sys.argv[1]
RANK = int(os.environ["RANK"])


def main():
    if HOW.startswith("both"):
        both()
    if RANK == 0:
        time.sleep(1000)
    if HOW == "SIGKILL":
        os.kill(os.getpid(), signal.SIGKILL)
    if HOW.startswith("exit:"):
        sys.exit(int(HOW.removeprefix("exit:")))
    raise ValueError("a sum of 7 that is wrong,\nin two lines: \u00e9 \"quoted\"")


def both():
    """Rank 0 exits with 3, and right after it rank 1 with 5, whatever anybody does to stop it."""
    folder = os.environ["PROBE_DIR"]
    if RANK == 1:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(f"{folder}/{RANK}.new", "w") as f:
        f.write(str(os.getpid()))
    os.rename(f"{folder}/{RANK}.new", f"{folder}/{RANK}.pid")
    while not os.path.exists(f"{folder}/{1 - RANK}.pid"):
        time.sleep(0.01)
    if RANK == 0:
        os._exit(3)
    with open(f"{folder}/0.pid") as f:
        other = f.read()
    while alive(other):
        time.sleep(0.001)
    os._exit(5)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    if HOW == "record":
        from torch.distributed.elastic.multiprocessing.errors import record
        main = record(main)
    main()
