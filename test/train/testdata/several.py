"""Two ranks that fail one right after the other: rank 1 first, and then rank 0, which notices that it is gone."""

import os
import resource
import signal
import sys

fifo, how = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
try:
    os.mkfifo(fifo)
except FileExistsError:
    pass


def main():
    if os.environ["RANK"] == "1":
        end = os.open(fifo, os.O_WRONLY)  # waits for rank 0, which sees it closed when this process is gone
        if how == "ValueError":
            raise ValueError("the cause")
        os.kill(os.getpid(), signal.Signals[how])
        os.close(end)
    with open(fifo) as f:
        f.read()
    raise ConnectionResetError("connection closed by peer")


if how == "ValueError":
    # Both write to the same output; only the error files tell whose exception is whose.
    from torch.distributed.elastic.multiprocessing.errors import record
    main = record(main)
main()
