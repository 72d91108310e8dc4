"""The shape of PyTorch's elastic example: nothing is parsed, everything comes from the launcher's variables."""

import os

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP


class Toy(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(10, 10)
        self.act = nn.ReLU()
        self.narrow = nn.Linear(10, 5)

    def forward(self, x):
        return self.narrow(self.act(self.wide(x)))


def one_step():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    assert dist.is_torchelastic_launched()
    assert rank % dist.get_world_size() == int(os.environ["LOCAL_RANK"])
    torch.manual_seed(rank)
    model = DDP(Toy())
    step = optim.SGD(model.parameters(), lr=0.001)
    outputs = model(torch.randn(20, 10))
    nn.MSELoss()(outputs, torch.randn(20, 5)).backward()
    step.step()
    total = sum(p.sum() for p in model.parameters()).item()
    dist.barrier()
    dist.destroy_process_group()
    os.write(1, f"rank {rank} is done: {total:.6f}\n".encode())
    # Not through the interpreter's end: now and then torch aborts there, under either launcher (see elastic.py).
    os._exit(0)


if __name__ == "__main__":
    one_step()
