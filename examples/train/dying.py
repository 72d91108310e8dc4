"""Dying on request: one rank, at one step, in a chosen way."""

import argparse
import mmap
import os
import resource
import signal
import sys
import time

# A handler for these is somebody's wish (faulthandler's, say) or cannot be set at all.
KEEP_HANDLER = {
    signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT,
}


def add_switches(parser):
    """Adds --die-at, --how, --die-rank and --die-once to an argument parser."""
    group = parser.add_argument_group("dying")
    group.add_argument("--die-at", type=int, metavar="STEP", help="die in this step, before its gradients are shared")
    group.add_argument("--how", type=_how, default="SIGKILL", metavar="HOW",
                       help="a signal's name, exception, exit:N, oom or hang (default %(default)s)")
    group.add_argument("--die-rank", type=int, metavar="RANK", help="the rank that dies (default: the last)")
    group.add_argument("--die-once", metavar="FILE",
                       help="die only if FILE does not exist; it is made right before, so that a restarted run lives")


class Death:
    """What the switches ask of this rank."""

    def __init__(self, args, rank, world):
        last = world - 1 if args.die_rank is None else args.die_rank
        self.step = args.die_at if rank == last else None
        self.how, self.once, self.rank = args.how, args.die_once, rank

    def at(self, step):
        """Ends this process if it is told to die in this step; otherwise does nothing."""
        if step != self.step or (self.once and not _first_time(self.once)):
            return
        print(f"rank {self.rank} (pid {os.getpid()}) dies at step {step}: {self.how}", flush=True)
        if self.how == "exception":
            raise ValueError(f"die at step {step} on rank {self.rank}")
        if self.how.startswith("exit:"):
            sys.exit(int(self.how[len("exit:"):]))
        if self.how == "oom":
            _fill_memory()
        if self.how == "hang":
            while True:
                time.sleep(3600)
        _raise(signal.Signals[self.how])


def _how(text):
    if text in ("exception", "oom", "hang") or text in signal.Signals.__members__:
        return text
    if text.startswith("exit:") and text[len("exit:"):].isdigit() and int(text[len("exit:"):]) <= 255:
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is not a signal's name, exception, exit:0 to exit:255, oom or hang")


def _first_time(path):
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    except FileExistsError:
        return False
    return True


def _raise(sig):
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sig not in KEEP_HANDLER:
        # Python turns SIGINT into an exception and ignores SIGPIPE; TensorFlow swallows SIGTERM.
        signal.signal(sig, signal.SIG_DFL)
    os.kill(os.getpid(), sig)


def _fill_memory():
    # Where there is no limit on the container the whole machine runs out: then be the one that is killed.
    with open("/proc/self/oom_score_adj", "w") as f:
        f.write("1000")
    taken = []
    while True:
        block = mmap.mmap(-1, 16 << 20)
        for page in range(0, len(block), mmap.PAGESIZE):
            block[page] = 1  # memory counts only once it is touched
        taken.append(block)
