"""A worker that writes down how it was started, prints a few lines and ends.

The record goes to $PROBE_DIR/<attempt>.<rank>.json. PROBE_FAILS=RANK:CODE names a rank that fails in the first attempt,
once every rank has written its record; the others wait there until they are stopped. A negative code is a signal.
"""

import glob
import json
import os
import sys
import time


def main():
    rank = os.environ["RANK"]
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    note(rank, attempt)
    for n in range(2):
        os.write(1, f"probe: out {rank} line {n} of attempt {attempt}, zwölf\n".encode())
        os.write(2, f"probe: err {rank} line {n} of attempt {attempt}, zwölf\n".encode())
    os.write(1, f"probe: out {rank} one needle, and a comma\n\n".encode())
    os.write(2, f"probe: err {rank} one needle, and a comma\n".encode())
    fails = os.environ.get("PROBE_FAILS")
    if fails is not None and attempt == "0":
        failing, code = fails.split(":")
        if rank != failing:
            open(os.path.join(os.environ["PROBE_DIR"], f"0.{rank}.done"), "w").close()
            time.sleep(1000)
        while len(glob.glob(os.path.join(os.environ["PROBE_DIR"], "0.*.done"))) < int(os.environ["WORLD_SIZE"]) - 1:
            time.sleep(0.01)
        if int(code) < 0:
            os.kill(os.getpid(), -int(code))
        sys.exit(int(code))


def note(rank, attempt):
    with open("/proc/self/status") as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    stdin = os.fstat(0)
    facts = {
        "argv": sys.argv,
        "env": dict(os.environ),
        "cwd": os.getcwd(),
        "leadsSession": os.getpid() == os.getpgid(0) == os.getsid(0),
        "stdin": f"{stdin.st_dev}:{stdin.st_ino}",
        "python": sys.executable,
        "unbuffered": bool(sys.stdout.write_through),
        "ignored": status["SigIgn"],
        "blocked": status["SigBlk"],
        "main": __name__,
    }
    path = os.path.join(os.environ["PROBE_DIR"], f"{attempt}.{rank}.json")
    with open(path + ".new", "w") as f:
        json.dump(facts, f)
    os.rename(path + ".new", path)


if __name__ == "__main__":
    main()
