"""Tells gangrun how far this rank is, in the protocol of sd_notify: a datagram to the socket that NOTIFY_SOCKET names.

Without a supervisor that listens nothing happens, so that a script which uses it runs as well without gangrun."""

import os
import socket

_socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
_phase = "train"


def step(number, own=0.0):
    """Says that a step is done. own is how many seconds of it this rank has spent without waiting for others, as for its
    data: if one rank takes longer than the others again and again, gangrun names it."""
    global _phase
    over = "" if _phase == "train" else "\nX_GANGRUN_PHASE=train"
    _phase = "train"
    _tell(f"X_GANGRUN_STEP={number}\nX_GANGRUN_OWN_USEC={int(own * 1e6)}{over}")


def phase(name):
    """Says what this rank does from now on, until the next step or phase: eval and checkpoint may take long. train is the
    end of them: after the last save no step follows."""
    global _phase
    _phase = name
    _tell(f"X_GANGRUN_PHASE={name}")


def _tell(message):
    address = os.environ.get("NOTIFY_SOCKET")
    if address:
        try:
            _socket.sendto(f"{message}\nX_GANGRUN_RANK={os.environ.get('RANK', 0)}".encode(), address)
        except OSError:
            pass  # training does not depend on who listens
