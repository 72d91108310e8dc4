"""The ranks of one job, joined in a star over TCP: rank 0 is the hub. Values travel as lines of JSON."""

import json
import os
import socket
import time

JOIN_TIMEOUT = 60  # seconds that the ranks wait for one another at the start


class Gang:
    """All the ranks, connected; whoever loses another rank gets a ConnectionError that names it."""

    def __init__(self, listener=None):
        """Joins the gang that RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT tell of; without them, a gang of one.

        listener is a socket that rank 0 may already have been given for its address.
        """
        self.rank = int(os.environ.get("RANK", 0))
        self.world = int(os.environ.get("WORLD_SIZE", 1))
        self.peers = {}  # rank -> file of the connection; all the others at the hub, the hub elsewhere
        if self.world == 1:
            return
        address = os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", 29500))
        if self.rank == 0:
            self._accept(listener or _listen(address))
        else:
            self.peers[0] = _connect(address).makefile("rwb")
            self._send(0, self.rank)

    def gather(self, value):
        """Every rank's value, in the order of the ranks, at the hub; None elsewhere."""
        if self.rank != 0:
            return self._send(0, value)
        return [value] + [self._receive(rank) for rank in range(1, self.world)]

    def broadcast(self, value):
        """The hub's value at every rank; what the others pass is ignored."""
        if self.rank != 0:
            return self._receive(0)
        for rank in self.peers:
            self._send(rank, value)
        return value

    def _accept(self, listener):
        deadline = time.monotonic() + JOIN_TIMEOUT
        with listener:
            while len(self.peers) < self.world - 1:
                listener.settimeout(max(0.001, deadline - time.monotonic()))
                try:
                    connection, _ = listener.accept()
                except socket.timeout:
                    missing = [r for r in range(1, self.world) if r not in self.peers]
                    raise TimeoutError(f"rank 0: ranks {missing} did not come within {JOIN_TIMEOUT} s") from None
                connection.settimeout(None)
                file = connection.makefile("rwb")
                self.peers[int(file.readline())] = file

    def _send(self, rank, value):
        try:
            self.peers[rank].write(json.dumps(value).encode() + b"\n")
            self.peers[rank].flush()
        except OSError as e:
            raise ConnectionError(f"rank {self.rank}: lost rank {rank}: {e}") from None

    def _receive(self, rank):
        try:
            line = self.peers[rank].readline()
        except OSError as e:
            raise ConnectionError(f"rank {self.rank}: lost rank {rank}: {e}") from None
        if not line.endswith(b"\n"):
            raise ConnectionError(f"rank {self.rank}: lost rank {rank}: connection closed by peer")
        return json.loads(line)


def _listen(address):
    host = address[0] if address[0] in ("127.0.0.1", "localhost") else ""
    return socket.create_server((host, address[1]), backlog=128)


def _connect(address):
    deadline = time.monotonic() + JOIN_TIMEOUT
    while True:
        try:
            connection = socket.create_connection(address, timeout=JOIN_TIMEOUT)
        except OSError as e:
            # Also while the hub's name does not resolve yet.
            if time.monotonic() > deadline:
                raise TimeoutError(f"no rank 0 at {address[0]}:{address[1]} within {JOIN_TIMEOUT} s: {e}") from e
        else:
            # On one machine a connection can meet itself when nobody listens on a port of the ephemeral range.
            if connection.getsockname() != connection.getpeername():
                connection.settimeout(None)
                return connection
            connection.close()
        time.sleep(0.05)
