"""Ranks of which the second ends of an exception and is killed by a signal when its interpreter goes down, as libraries with
threads of their own do it now and then; or one that gets over its exception and is killed at work."""

import atexit
import faulthandler
import os
import resource
import signal
import sys
import time
import traceback

how, kept, name = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
faulthandler.enable()


def main():
    if os.environ["RANK"] == "1":
        if how == "wayout":
            atexit.register(lambda: os.kill(os.getpid(), signal.Signals[name]))
        raise ValueError("the cause")
    time.sleep(60)


if kept == "record":
    from torch.distributed.elastic.multiprocessing.errors import record

    main = record(main)
if how == "wayout":
    main()
else:
    try:
        main()
    except ValueError:
        traceback.print_exc()
    os.kill(os.getpid(), signal.Signals[name])
