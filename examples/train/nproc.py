"""A launcher of a few lines: all the ranks on this machine, ended together."""

import os
import signal
import socket
import subprocess
import sys
import time

STOP_TIMEOUT = 5  # seconds between SIGTERM and SIGKILL


def launch(count):
    """Runs this very script as count ranks and returns the code to exit with: 0 when all of them returned 0.

    When one fails the others are stopped; the code is that of the rank that failed, 128+n when signal n ended it.
    """
    ranks, stop = [], []

    def pass_on(sig, _frame):
        stop.append(sig)
        for rank in ranks:
            rank.send_signal(sig)

    signal.signal(signal.SIGTERM, pass_on)
    signal.signal(signal.SIGINT, pass_on)
    # Rank 0 inherits the socket that the others connect to, so nobody else can get the port in between.
    with socket.create_server(("127.0.0.1", 0), backlog=count) as hub:
        for rank in range(count):
            ranks.append(_start(rank, count, hub))
    if stop:
        pass_on(stop[0], None)  # it may have come before the last rank was there
    while any(rank.poll() is None for rank in ranks) and not any(rank.returncode for rank in ranks):
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    _await_cause(ranks)
    code = _cause(ranks)
    _stop(ranks)
    return 128 - code if code < 0 else code


def _start(rank, count, hub):
    env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count), LOCAL_WORLD_SIZE=str(count),
               MASTER_ADDR="127.0.0.1", MASTER_PORT=str(hub.getsockname()[1]))
    # Of a switch given twice the last one counts.
    argv = [sys.executable, *sys.argv, "--nproc", "0"]
    if rank == 0:
        argv += ["--listen-fd", str(hub.fileno())]
    return subprocess.Popen(argv, env=env, pass_fds=[hub.fileno()] if rank == 0 else [])


def _cause(ranks):
    # A rank that lost another one exits with 1, so any other code is nearer to the cause.
    failed = [rank.poll() for rank in ranks if rank.poll()]
    return next((code for code in failed if code != 1), failed[0] if failed else 0)


def _await_cause(ranks):
    deadline = time.monotonic() + 0.2
    while _cause(ranks) == 1 and any(r.poll() is None for r in ranks) and time.monotonic() < deadline:
        time.sleep(0.005)


def _stop(ranks):
    for rank in ranks:
        rank.terminate()
    for rank in ranks:
        try:
            rank.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            rank.kill()
            rank.wait()
