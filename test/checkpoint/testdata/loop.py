"""A training loop of somebody's own: it resumes from what it is given, saves in its own way, and is killed once.

Usage: loop.py HABIT FOLDER JOURNAL HOW, where HOW is "training" (killed after two saves), "save" (within the third) or
"first" (within the first), or "beside": a rank on another node that saves nothing and runs until the node a, whose journal is
beside its own and called so, has finished. Killed within a save means that one file of it is half written, and those after it not at all.
"""

import json
import os
import pathlib
import random
import signal
import sys
import time

import habits

habit, folder, journal, how = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
write, load = habits.HABITS[habit]


def note(**line):
    with open(journal, "a") as f:
        f.write(json.dumps(line) + "\n")


def files():
    found = {path: path.stat() for path in folder.rglob("*") if path.is_file()}
    return {path: (stat.st_mtime_ns, stat.st_ino) for path, stat in found.items() if not path.name.startswith(".gangrun")}


def cut(step):
    before = set(files().values())  # what was only given another name is as it was
    write(folder, step)
    new = [path for path, now in sorted(files().items(), key=lambda one: one[1]) if now not in before]
    # What a library renames into its place is whole or not there at all.
    chosen = random.Random(habit).randrange(len(new))
    for path in new[chosen + 1:]:
        path.unlink()
    os.truncate(new[chosen], new[chosen].stat().st_size // 2)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


path = os.environ["GANGRUN_RESUME_PATH"]
step = load(pathlib.Path(path)) if path else 0
first = not os.path.exists(journal)
note(path=path, step=step, decision=os.environ["GANGRUN_RESUME_DECISION"], said=os.environ["GANGRUN_RESUME_STEP"])
def until(name):
    """waits for what the rank on the other node does"""
    while not os.path.exists(os.path.join(os.path.dirname(journal), name)):
        time.sleep(0.02)


if os.path.basename(journal) == "a":
    until("b")
if how == "beside":
    until("a.finished")
    sys.exit()
if first and how == "first":
    cut(100)
    die()
while step < 400:
    step += 100
    if first and step == 300:
        if how == "save":
            cut(step)
        die()
    write(folder, step)
open(journal + ".finished", "w").close()
