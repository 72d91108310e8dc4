"""A process of a jax.distributed job that sums over all of them until the one named by --rank fails as --fail says.

Prints "step N" to standard output after each step.
"""

import argparse
import os
import signal
import sys
import time

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils

parser = argparse.ArgumentParser()
parser.add_argument("address")
parser.add_argument("process", type=int)
parser.add_argument("--fail")
parser.add_argument("--rank", type=int)
parser.add_argument("--initialization-timeout", type=int, default=60)
parser.add_argument("--heartbeat-timeout", type=int, default=10)
parser.add_argument("--idle", action="store_true", help="no collectives after step 3")
args = parser.parse_args()

jax.distributed.initialize(args.address, 2, args.process, initialization_timeout=args.initialization_timeout,
                           heartbeat_timeout_seconds=args.heartbeat_timeout)
for step in range(1, 100000):
    if step <= 3 or not args.idle:
        multihost_utils.process_allgather(jnp.ones(4))
    print("step", step, flush=True)
    if step == 3 and args.fail and args.rank == args.process:
        if args.fail == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif args.fail == "value-error":
            raise ValueError("learning rate must be positive, got -1.0")
        elif args.fail == "leave":
            sys.exit(0)
        elif args.fail == "sleep":
            time.sleep(3600)
    if step > 3:
        time.sleep(0.05)
