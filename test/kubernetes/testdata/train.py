"""Trains with examples/train/plain.py, which is at /trainer.

The test's own switches are in the file /workspace/switches; one that begins with N: counts in that attempt of the JobSet
alone, and "deaf" makes it ignore SIGTERM. A rank waits in step N for as long as there is a file /workspace/hold-N.
"""

import os
import signal
import sys
import time

sys.path.insert(0, "/trainer")
import plain  # noqa: E402
import report  # noqa: E402

tell = report.step


def step(number):
    tell(number)
    while os.path.exists(f"/workspace/hold-{number}"):
        print(f"holding in step {number}", flush=True)
        time.sleep(0.05)


report.step = step
with open("/workspace/switches", encoding="utf-8") as f:
    for switch in f.read().split():
        attempt, _, rest = switch.partition(":")
        if switch == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        elif not attempt.isdigit():
            sys.argv.append(switch)
        elif attempt == os.environ["RESTART_ATTEMPT"]:
            sys.argv.append(rest)
try:
    plain.main()
except SystemExit as e:
    os._exit(e.code)  # at once: the others must not hear of it before gangrun does
except ConnectionError:
    time.sleep(1)  # and they are slow to believe it, as with NCCL
    raise
