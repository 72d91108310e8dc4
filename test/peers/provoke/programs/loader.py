"""A DataLoader whose workers fail in the way named by the first argument."""

import ctypes
import os
import signal
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 64

    def __getitem__(self, index):
        if index == 20:
            if self.how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            elif self.how == "segv":
                ctypes.string_at(0)
            elif self.how == "exit":
                os._exit(5)
            elif self.how == "raise":
                raise FileNotFoundError(2, "No such file or directory", "/data/shard-00020.tar")
            elif self.how == "slow":
                time.sleep(3600)
        return torch.zeros(1 << 18 if self.how == "shm" else 8)


for batch in DataLoader(Samples(sys.argv[1]), batch_size=4, num_workers=2, timeout=3 if sys.argv[1] == "slow" else 0):
    pass
