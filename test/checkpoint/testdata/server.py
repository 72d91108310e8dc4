"""Saves and loads checkpoints with a real library, on request; the library is loaded once.

Each request is a line of JSON on standard input and forks a child, so that a child can be killed while it saves and
nothing of one save or load is left for the next. Each answer is a line of JSON on standard output.

Usage: server.py MODULE, whose FORMATS are pairs of functions by name:

  write(folder, in_place, journal)  saves for ever, each time another generation, as another step or over the last one
  load(path)                        loads what was saved and returns its generation; anything that is missing, changed
                                    or of another generation is an error
"""

import gc
import importlib
import json
import os
import pathlib
import select
import signal
import sys
import time
import traceback

AGE = 60  # seconds that are put between two saves
COARSE = 5  # CLOCK_REALTIME_COARSE, by which file systems give times
WARM = 2  # saves before the one that is killed: the first load what is loaded late


class Journal:
    """Tells the parent when a save begins and when it is finished, and dies where it shall not be the parent's clock."""

    def __init__(self, pipe, request):
        self.pipe, self.folder, self.in_place = pipe, request["folder"], request["in_place"]
        self.by, self.at = request["by"], request["at"]
        self.saves, self.operations, self.last = 0, 0, 0
        sys.addaudithook(self.audit)

    def note(self, **line):
        os.write(self.pipe, json.dumps(line).encode() + b"\n")

    def begin(self, generation):
        self.last, self.operations = self.operations, 0
        self.saves += 1
        before = time.time_ns()
        while (at := time.clock_gettime_ns(COARSE)) <= before:  # what the last save has written is older than what this one writes
            pass
        self.note(begin=generation, at=at)

    def end(self, generation, path):
        self.note(end=generation, path=str(path), operations=self.operations)
        if self.by == "end" and self.saves == WARM:
            os.killpg(0, signal.SIGKILL)

    def audit(self, event, arguments):
        """Kills the process group before one of the operations of this save, as many of them as the last save had."""
        if event not in OPERATIONS or not isinstance(arguments[0], (str, bytes, os.PathLike)):
            return
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR):
            return
        path = os.fsdecode(arguments[0])
        if event in ("os.remove", "os.rmdir") and arguments[1] >= 0:  # as shutil.rmtree does
            path = os.path.join(os.readlink(f"/proc/self/fd/{arguments[1]}"), path)
        if not path.startswith(self.folder):
            return
        if self.by == "operation" and self.saves > WARM and self.operations == int(self.at * max(self.last, 1)):
            os.killpg(0, signal.SIGKILL)
        self.operations += 1


OPERATIONS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.symlink"}


def postpone(folder, begin):
    """Makes what was written since then younger, as if that save had begun AGE later. When a file was made cannot be set:
    making what is older older would put that behind the time at which it was written."""
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file() and (stat := path.stat()).st_mtime_ns >= begin:
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + AGE * 10**9))


def fork(work):
    """Runs work(pipe) in a child that leads a process group, and returns its id and the reading end of its pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    try:
        os.setpgid(0, 0)
        os.close(reading)
        work(writing)
    except BaseException:
        traceback.print_exc()
        os.write(writing, json.dumps({"failed": traceback.format_exc()[-2000:]}).encode() + b"\n")
    finally:
        os._exit(0)


def lines(pipe):
    """The lines from a pipe as they come, with None whenever the time that is sent to it in seconds is over."""
    rest, wait = b"", None
    while True:
        if wait is not None and not select.select([pipe], [], [], max(wait, 0))[0]:
            wait = yield None
            continue
        data = os.read(pipe, 1 << 16)
        if not data:
            os.close(pipe)
            return
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            wait = yield json.loads(line)


def kill(write, request):
    """Starts saving, kills that, and answers with the journal."""
    folder = pathlib.Path(request["folder"])
    child, pipe = fork(lambda pipe: write(folder, request["in_place"], Journal(pipe, request)))
    journal, began, took, operations, until, late = [], 0.0, [], 0, None, False
    incoming, wait = lines(pipe), None
    limit = time.monotonic() + 60
    while True:
        try:
            line = incoming.send(wait)
        except StopIteration:
            break
        now = time.monotonic()
        if line:
            journal.append(line)
            if "begin" in line:
                began = now
                # What a library does outside of Python is not seen: then the clock has to do.
                if len(took) == WARM and (request["by"] == "clock" or operations == 0):
                    until = now + request["at"] * 1.25 * took[-1]
            elif "end" in line:
                took.append(now - began)
                operations = line["operations"]
        if until is not None and now >= until or now >= limit:
            late = now >= limit
            os.killpg(child, signal.SIGKILL)
            until, limit, wait = None, now + 60, None
        else:
            wait = (until or limit) - now
    os.waitpid(child, 0)
    if request["in_place"] and journal and "begin" in journal[-1]:
        postpone(folder, journal[-1]["at"])
    return {"journal": journal, "late": late}


def load(load, request):
    """Loads some checkpoints, and answers with the generation of each or why not."""
    def work(pipe):
        for path in request["paths"]:
            try:
                answer = {"generation": load(pathlib.Path(path))}
            except BaseException as error:  # that of torch.distributed.checkpoint is no Exception
                answer = {"error": f"{type(error).__name__}: {error}"[:1000]}
            os.write(pipe, json.dumps(answer).encode() + b"\n")

    child, pipe = fork(work)
    results = [line for line in lines(pipe)]
    os.waitpid(child, 0)
    died = {"error": "the loader died"}
    return {"results": (results + [died] * len(request["paths"]))[:len(request["paths"])]}


def main():
    out = os.dup(1)
    os.dup2(2, 1)  # libraries print what they like

    def answer(line):
        os.write(out, json.dumps(line).encode() + b"\n")

    try:
        module = importlib.import_module(sys.argv[1])
    except ImportError as error:
        answer({"missing": str(error)})
        return
    gc.collect()
    gc.freeze()
    answer({"versions": module.VERSIONS, "formats": sorted(module.FORMATS)})
    for line in sys.stdin:
        request = json.loads(line)
        write, read = module.FORMATS[request["format"]]
        answer(kill(write, request) if request["do"] == "kill" else load(read, request))


if __name__ == "__main__":
    main()
