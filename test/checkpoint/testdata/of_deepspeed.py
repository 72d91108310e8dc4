"""DeepSpeed on a CPU, one rank, in each of its stages: training states, and its own loader."""

import itertools
import logging
import os
import pathlib
import sys
import tempfile
import warnings

os.environ["DS_ACCELERATOR"] = "cpu"
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
warnings.simplefilter("ignore")

import deepspeed
import deepspeed.comm.torch
import torch
import torch.distributed
from deepspeed.utils import (
    safe_get_full_fp32_param, safe_get_full_optimizer_state, safe_set_full_fp32_param, safe_set_full_optimizer_state)

from content import generation_of, value

torch.set_num_threads(1)
logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # it compiles a faster all_reduce
VERSIONS = {"deepspeed": deepspeed.__version__, "torch": torch.__version__}
ARRAYS, SHAPE = 4, (16, 16)
MOMENTS = ("exp_avg", "exp_avg_sq")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(*SHAPE, bias=False) for _ in range(ARRAYS))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def engine(stage):
    if not torch.distributed.is_initialized():
        store = pathlib.Path(tempfile.mkdtemp(), "store")
        torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    model = Model()
    config = {"train_batch_size": 1, "zero_optimization": {"stage": stage}, "zero_allow_untested_optimizer": True,
              "zero_force_ds_cpu_optimizer": False}
    made, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.Adam(model.parameters()), config=config)
    made.backward(made(torch.zeros(1, SHAPE[0])).sum())
    made.step()  # makes the state of the optimizer
    return made


def remembered(engine, stage):
    """What the optimizer has of each array: itself, where that is kept apart from what is trained, and its moments."""
    parameters, optimizer = list(engine.module.parameters()), engine.optimizer
    if stage == 0:
        return [[optimizer.state[p][name] for p in parameters] for name in MOMENTS]
    if stage == 3:
        return [[safe_get_full_fp32_param(p) for p in parameters],
                *([safe_get_full_optimizer_state(p, name) for p in parameters] for name in MOMENTS)]
    flat = optimizer.single_partition_of_fp32_groups[0]
    state = optimizer.optimizer.state[flat]
    return [list(whole.data[:ARRAYS * SHAPE[0] * SHAPE[1]].view(ARRAYS, *SHAPE)) for whole in (flat, *(state[name] for name in MOMENTS))]


def fill(engine, stage, now):
    for i, p in enumerate(engine.module.parameters()):
        full = torch.full(SHAPE, value(now, i))
        if stage == 3:
            safe_set_full_fp32_param(p, full)
            for name in MOMENTS:
                safe_set_full_optimizer_state(p, full, name)
            continue
        p.data.copy_(full)
        for kind in remembered(engine, stage):
            kind[i].copy_(full)


def filled(engine, stage):
    kinds = remembered(engine, stage)
    if stage < 3:
        kinds.append([p.data for p in engine.module.parameters()])
    found = {generation_of([array.detach().numpy() for array in kind]) for kind in kinds}
    if len(found) != 1:
        raise ValueError(f"of several generations: {found}")
    return found.pop()


def zero(stage):
    def write(folder, in_place, journal):
        made = engine(stage)
        for now in itertools.count(1):
            fill(made, stage, now)
            tag = f"global_step{1 if in_place else now}"
            journal.begin(now)
            made.save_checkpoint(str(folder), tag=tag, client_state={"generation": now})
            journal.end(now, folder / tag)

    kept = []

    def load(path):
        if not kept:
            kept.append(engine(stage))
        fill(kept[0], stage, 0)
        name, client = kept[0].load_checkpoint(str(path.parent), tag=path.name)
        if name is None:
            raise ValueError("nothing was loaded")
        found = filled(kept[0], stage)
        if client["generation"] != found:
            raise ValueError(f"the state is of {client['generation']}, and the weights are of {found}")
        return found

    return write, load


FORMATS = {f"DeepSpeed, stage {stage}": zero(stage) for stage in range(4)}
