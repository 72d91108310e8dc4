"""Writes the samples of this directory with the torch that runs it: python3 make.py DIRECTORY. Three ranks of gloo."""

import inspect
import os
import shutil
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import FileSystemWriter

out = sys.argv[1]


def state():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    adam = torch.optim.AdamW(model.parameters())
    model(torch.randn(2, 4)).sum().backward()
    adam.step()
    weights = model.state_dict()
    return model, {
        "model": weights,
        "optimizer": adam.state_dict(),
        "shared": weights["weight"][1:],
        "half": torch.zeros(3, dtype=torch.bfloat16),
        "float8": torch.zeros(5, dtype=torch.float8_e4m3fn),
        "flags": torch.zeros(3, dtype=torch.bool),
        "nothing": torch.zeros(0),
        "step": 7,
        "list": [1, 2.5, -3, 2**70, None, "x" * 300, b"y" * 300, (1, 2, 3, 4), {5, 6}],
    }


def one():
    model, everything = state()
    for protocol in (2, 4):
        torch.save(everything, f"{out}/zip-{protocol}.pt", pickle_protocol=protocol)
        torch.save(everything, f"{out}/legacy-{protocol}.pt", pickle_protocol=protocol,
                   _use_new_zipfile_serialization=False)
    torch.serialization.set_crc32_options(False)
    torch.save(everything, f"{out}/zip-without-crc.pt")
    torch.serialization.set_crc32_options(True)
    torch.save("", f"{out}/dummy.pt")
    torch.jit.save(torch.jit.script(model), f"{out}/script.pt")

    class Full(Exception):
        pass

    class Filling:
        def __init__(self, archive):
            self.archive, self.left = archive, 3

        def __getattr__(self, name):
            return getattr(self.archive, name)

        def write_record(self, name, *data):
            if "data/" in name and not name.startswith("."):
                self.left -= 1
            if self.left < 0:
                raise Full
            return self.archive.write_record(name, *data)

    try:
        with torch.serialization._open_zipfile_writer(f"{out}/interrupted.pt") as archive:
            torch.serialization._save(everything, Filling(archive), torch.serialization.pickle, 2, False)
    except Full:
        pass

    from safetensors.torch import save_file

    save_file(model.state_dict() | {"half": everything["half"], "nothing": torch.zeros(0)}, f"{out}/model.safetensors",
              metadata={"format": "pt", "odd": 'a "quoted" \\ text\n'})


def ranks():
    dist.init_process_group("gloo")
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (3,))
    tensors = {"w": distribute_tensor(torch.arange(64.0).reshape(16, 4), mesh, [Shard(0)]), "b": torch.ones(4), "n": 7}

    def keep(directory, name):
        dist.barrier()
        if dist.get_rank() == 0:
            for entry in sorted(os.listdir(directory)):
                if entry.endswith(".metadata"):
                    shutil.copy(f"{directory}/{entry}", f"{out}/{name}{entry.removesuffix('.metadata')}.metadata")
            with open(f"{out}/{name}.sizes", "w") as sizes:
                for entry in sorted(os.listdir(directory)):
                    if entry.endswith(".distcp"):
                        print(entry, os.path.getsize(f"{directory}/{entry}"), file=sizes)
        dist.barrier()

    base = os.environ["SAVE_INTO"]
    dcp.save(tensors, checkpoint_id=f"{base}/a")
    keep(f"{base}/a", "dcp")
    dcp.save(tensors, storage_writer=FileSystemWriter(f"{base}/b", thread_count=3))
    keep(f"{base}/b", "dcp-threads")
    if "use_collectives" in inspect.signature(dcp.save).parameters:  # not in torch 2.6
        dcp.save(tensors, storage_writer=FileSystemWriter(f"{base}/c"), use_collectives=False)
        keep(f"{base}/c", "dcp-apart")
    dist.destroy_process_group()


if "RANK" in os.environ:
    ranks()
else:
    os.makedirs(out, exist_ok=True)
    one()
    with tempfile.TemporaryDirectory() as base:
        subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=3", "--master-port=29533",
                        __file__, out], check=True, env=os.environ | {"SAVE_INTO": base})
