"""Joins a process group by the environment with a short timeout, and leaves it again."""

import sys
from datetime import timedelta

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=float(sys.argv[1])))
dist.destroy_process_group()
