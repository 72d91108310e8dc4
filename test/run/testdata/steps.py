"""Steps in which nothing is trained, with the snippet of examples/save: the directory of examples/ is the argument.

Says whether the file was there before anybody asked, and what it tells.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(sys.argv[1], "save"))
from stop import stops_at

file = os.environ.get("GANGRUN_STOP_FILE")
print("training, and the file is", "there" if file and os.path.exists(file) else "not there", flush=True)
step = 0
stops_at(step)
while True:
    step += 1
    time.sleep(0.05)
    if step == 5:
        print("five steps", flush=True)
    if os.path.exists(os.environ.get("FAIL_ONCE", "/")) is False:
        open(os.environ["FAIL_ONCE"], "w").close()
        os.kill(os.getpid(), 9)
    if stops_at(step):
        print(f"saved at {step}, told {open(file).read()!r}", flush=True)
        break
