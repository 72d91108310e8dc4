"""A rank that trains until it is told to stop and then saves, and that ends by itself in its job's second run.

It has a loader, a process of its own that knows of no signals.
"""
import os
import signal
import subprocess
import sys
import time

folder, rank = sys.argv[1], int(os.environ["PET_NODE_RANK"])
step = int(os.environ.get("GANGRUN_RESUME_STEP") or 0)
print(f"resuming from step {step}", flush=True)
last = step + 5 if "SLURM_RESTART_COUNT" in os.environ else 10**9
loader = subprocess.Popen(["sleep", "1000"])
told = []
signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
while step < last and not told:
    time.sleep(0.1)
    step += 1
if told:
    print(f"told to stop by signal {told[0]}, the loader lives: {loader.poll() is None}", flush=True)
    if rank == 0:
        os.makedirs(folder, exist_ok=True)
        path = f"{folder}/step-{step:08d}.json"
        with open(path + ".tmp", "w") as f:
            f.write("{}")
        os.replace(path + ".tmp", path)
        print(f"saved step {step}", flush=True)
loader.kill()
