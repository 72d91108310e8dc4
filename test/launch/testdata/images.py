"""The shape of PyTorch's ImageNet example: a long argument parser whose defaults mean "ask the environment", samplers
and data loaders with processes, a snapshot by rank 0, on a handful of made-up images."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("data", metavar="DIR", nargs="?", default="images")
parser.add_argument("-a", "--arch", default="small", choices=["small", "large"])
parser.add_argument("-j", "--workers", default=4, type=int)
parser.add_argument("--epochs", default=90, type=int)
parser.add_argument("-b", "--batch-size", default=256, type=int)
parser.add_argument("--lr", "--learning-rate", default=0.1, type=float, dest="lr")
parser.add_argument("-e", "--evaluate", dest="evaluate", action="store_true")
parser.add_argument("--world-size", default=-1, type=int)
parser.add_argument("--rank", default=-1, type=int)
parser.add_argument("--dist-url", default="env://", type=str)
parser.add_argument("--dist-backend", default="nccl", type=str)


class Images(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        return torch.randn(3, 8, 8, generator=generator) + i % 2, i % 2


def main():
    args = parser.parse_args()
    if args.dist_url == "env://" and args.world_size == -1:
        args.world_size = int(os.environ["WORLD_SIZE"])
    if args.dist_url == "env://" and args.rank == -1:
        args.rank = int(os.environ["RANK"])
    dist.init_process_group(backend=args.dist_backend, init_method=args.dist_url,
                            world_size=args.world_size, rank=args.rank)
    torch.manual_seed(7)
    width = {"small": 4, "large": 64}[args.arch]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(
        nn.Conv2d(3, width, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 2)))
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9)
    images = Images()
    sampler = DistributedSampler(images)
    loader = DataLoader(images, batch_size=args.batch_size // args.world_size, sampler=sampler,
                        num_workers=args.workers)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        right = torch.zeros(1)
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            nn.functional.cross_entropy(out, y).backward()
            optimizer.step()
            right += (out.argmax(1) == y).sum()
        dist.all_reduce(right)
        if args.rank == 0:
            torch.save({"epoch": epoch + 1, "state_dict": model.state_dict()}, os.path.join(args.data, "snapshot.pt"))
            print(f"epoch {epoch}: {int(right)} of {len(images)} right, "
                  f"{sum(p.sum() for p in model.parameters()).item():.5f}", flush=True)
    dist.destroy_process_group()
    # Not through the interpreter's end: now and then torch aborts there, under either launcher (see elastic.py).
    os._exit(0)


if __name__ == "__main__":
    main()
