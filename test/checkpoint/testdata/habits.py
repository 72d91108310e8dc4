"""How people save: loops of somebody's own, with nothing but torch, pickle and numpy."""

import gzip
import json
import os
import pickle
import shutil

import numpy
import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file, save_file

VERSIONS = {"torch": torch.__version__}
FORMATS = {}
STEPS = [100, 200, 300]


def names(step):
    """The forms that a step takes in names."""
    return [f"{step:07d}", f"{step}", f"{step // 100}k", f"epoch{step // 100}", f"_{step // 100}.", f"-{step // 100}/"]


def made(step, optimizer=torch.optim.Adam, **more):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(24, 48), torch.nn.ReLU(), torch.nn.Linear(48, 8))
    chosen = optimizer(model.parameters(), lr=0.01, **more)
    model(torch.zeros(4, 24)).sum().backward()
    chosen.step()
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(step)
    return model, chosen


def whole(model):
    """The step that weights are of."""
    values = {float(v) for tensor in model.values() for v in (tensor.min(), tensor.max())}
    if len(values) != 1:
        raise ValueError(f"weights of several steps: {values}")
    return int(values.pop())


def state(step, **more):
    model, optimizer = made(step)
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step} | more


def loaded(s, key="model", optimizer="optimizer", step="step"):
    model, opt = made(0)
    model.load_state_dict(s[key])
    opt.load_state_dict(s[optimizer])
    if step and s[step] != whole(s[key]):
        raise ValueError("a step that is not that of the weights")
    return whole(s[key])


def read(path):
    return torch.load(path, weights_only=False)


def file(name, build=state, load=loaded, save=torch.save, read=read):
    def write(folder, step):
        path = folder / name.format(step=step, epoch=step // 100)
        path.parent.mkdir(exist_ok=True)
        save(build(step), path)
        return path

    return write, lambda path: load(read(path))


def directory(name, parts):
    """A directory for each step, with a file for each part."""
    def write(folder, step):
        path = folder / name.format(step=step, epoch=step // 100)
        path.mkdir(exist_ok=True)
        s = state(step, scheduler={"last_epoch": step}, rng=torch.get_rng_state())
        for part, file in parts.items():
            save_part(s[part], path / file)
        return path

    def load(path):
        s = {part: read_part(path / file) for part, file in parts.items()}
        if "step" not in s:
            s["step"] = whole(s["model"])
        return loaded(s)

    return write, load


def save_part(part, path):
    if path.suffix == ".json":
        path.write_text(json.dumps({"step": part}))
    elif path.suffix == ".safetensors":
        save_file(part, path)
    else:
        torch.save(part, path)


def read_part(path):
    if path.suffix == ".json":
        return json.loads(path.read_text())["step"]
    return load_file(path) if path.suffix == ".safetensors" else read(path)


def beside(files, chief):
    """Files of one step side by side."""
    def write(folder, step):
        s = state(step, scheduler={"last_epoch": step})
        for part, name in files.items():
            torch.save(s[part], folder / name.format(step=step))
        return folder / files[chief].format(step=step)

    def load(path):
        step = "".join(c for c in path.name if c.isdigit())
        s = {part: read(path.parent / name.format(step=step)) for part, name in files.items()}
        return loaded(s | {"step": whole(s["model"])})

    return write, load


def gan():
    def part(step):
        model, optimizer = made(step)
        return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iteration": step, "learning_rate": 0.1}

    def write(folder, step):
        for name in "GD":
            torch.save(part(step), folder / f"{name}_{step}.pth")
        return folder / f"G_{step}.pth"

    def load(path):
        steps = {loaded(read(path.parent / path.name.replace("G_", name)), step="iteration") for name in ("G_", "D_")}
        if len(steps) != 1:
            raise ValueError(steps)
        return steps.pop()

    return write, load


def ranks(name):
    def write(folder, step):
        for rank in range(4):
            torch.save(state(step, rank=rank), folder / name.format(step=step, rank=rank))
        return folder / name.format(step=step, rank=0)

    def load(path):
        for rank in range(4):
            step = loaded(read(path.parent / path.name.replace("rank0", f"rank{rank}")))
        return step

    return write, load


def previous(latest, before):
    """The newest is written over the one before it, which is kept."""
    def write(folder, step):
        if (folder / latest).exists():
            shutil.move(folder / latest, folder / before)
        torch.save(state(step), folder / latest)
        return folder / latest

    return write, lambda path: loaded(read(path))


def imagenet():
    def write(folder, step):
        model, optimizer = made(step)
        s = {"epoch": step, "arch": "resnet50", "state_dict": model.state_dict(), "best_acc1": 71.3, "optimizer": optimizer.state_dict()}
        torch.save(s, folder / "checkpoint.pth.tar")
        if step == STEPS[0]:
            shutil.copyfile(folder / "checkpoint.pth.tar", folder / "model_best.pth.tar")
        return folder / "checkpoint.pth.tar"

    return write, lambda path: loaded(read(path), key="state_dict", step="epoch")


def nested(step):
    model, optimizer = made(step)
    return {"meta": {"epoch": 3, "iter": step, "mmcv_version": "2"}, "state_dict": model.state_dict(), "optimizer": optimizer.state_dict()}


def distributed(name, optimizer, key):
    def build(step):
        model, chosen = made(step, **optimizer)
        return {"model": model.state_dict(), key: chosen.state_dict(), "generation": step}

    def write(folder, step):
        path = folder / name.format(step=step)
        dcp.save(build(step), checkpoint_id=path, no_dist=True)
        return path

    def load(path):
        s = build(0)
        dcp.load(s, checkpoint_id=path, no_dist=True)
        if s["generation"] != whole(s["model"]):
            raise ValueError("of several steps")
        return s["generation"]

    return write, load


def dump(s, path):
    with open(path, "wb") as f:
        pickle.dump(s, f)


def undump(path):
    with open(path, "rb") as f:
        return pickle.load(f)


def zipped(s, path):
    with gzip.open(path, "wb") as f:
        torch.save(s, f)


def unzipped(path):
    with gzip.open(path, "rb") as f:
        return torch.load(f, weights_only=False)


def arrays(step):
    model, _ = made(step)
    return {k: v.numpy() for k, v in model.state_dict().items()}


def npz(s, path):
    numpy.savez(path, **s, step=int(s["0.bias"][0]))


def of_npz(path):
    with numpy.load(path) as f:
        found = {k: torch.from_numpy(f[k]) for k in f.files if k != "step"}
        if int(f["step"]) != whole(found):
            raise ValueError("of several steps")
        return found


def tutorial(step):
    model, _ = made(step)
    return {"MODEL_STATE": model.state_dict(), "EPOCHS_RUN": step}


def nano(step):
    model, optimizer = made(step)
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "model_args": {"n_layer": 12}, "iter_num": step,
            "best_val_loss": 1.5, "config": {"batch_size": 12, "max_iters": 600000}}


def yolo(step):
    model, optimizer = made(step)
    return {"epoch": step, "best_fitness": 0.5, "model": model, "ema": None, "updates": None, "optimizer": optimizer.state_dict(),
            "train_args": {"epochs": 900}}


ADAM, SGD = {"optimizer": torch.optim.Adam}, {"optimizer": torch.optim.SGD}

HABITS = {
    "ckpt_N.pt": file("ckpt_{step}.pt"),
    "ckpt_N.tar": file("ckpt_{step}.tar"),
    "ckpt_N.pth.tar": file("ckpt_{step}.pth.tar"),
    "N.ckpt": file("{step}.ckpt"),
    "checkpoint_N without an ending": file("checkpoint_{step}"),
    "model-stepN-lossX-fp16.pt": file("model-step{step}-loss2.9-fp16.pt"),
    "2026-01-02_stepN.pt": file("2026-01-02_03-04-05_step{step}.pt"),
    "ckpt-Nk.pt": file("ckpt-{epoch}k.pt", load=lambda s: loaded(s)),
    "checkpoint.pt in place": file("checkpoint.pt"),
    "ckpt.pt of nanoGPT": file("ckpt.pt", nano, lambda s: loaded(s, step="iter_num")),
    "last.pt of YOLO": file("last.pt", yolo, lambda s: loaded(s | {"model": s["model"].state_dict()}, step="epoch")),
    "snapshot.pt of the DDP tutorial": file("snapshot.pt", tutorial, lambda s: whole(s["MODEL_STATE"])),
    "legacy": file("ckpt_{step}.pt", save=lambda s, p: torch.save(s, p, _use_new_zipfile_serialization=False)),
    "checkpoint.pkl": file("checkpoint.pkl", lambda step: {"step": step, "model": {"w": numpy.full(9, step)}, "opt": {"m": numpy.zeros(9)}},
                           lambda s: int(s["model"]["w"][0]), dump, undump),
    "ckpt_N.pt.gz": file("ckpt_{step}.pt.gz", save=zipped, read=unzipped),
    "params_N.npz": file("params_{step}.npz", arrays, whole, npz, of_npz),
    "iter_N.pth of mmengine": file("iter_{step}.pth", nested, lambda s: loaded(s | {"step": s["meta"]["iter"]}, key="state_dict")),
    "epoch_N.pt": file("epoch_{epoch}.pt", lambda step: state(step) | {"epoch": step // 100}),
    "step_N/state.pt": file("step_{step}/state.pt")[0:1] + (lambda path: loaded(read(path / "state.pt")),),
    "checkpoint-N/ with parts": directory("checkpoint-{step}", {"model": "model.pt", "optimizer": "optimizer.pt", "scheduler": "scheduler.pt"}),
    "step-N/ with safetensors": directory("step-{step}", {"model": "model.safetensors", "optimizer": "optimizer.pt", "step": "trainer_state.json"}),
    "latest/ in place": directory("latest", {"model": "model.pt", "optimizer": "optimizer.pt", "step": "meta.json"}),
    "model_N, optimizer_N": beside({"model": "model_{step}.pt", "optimizer": "optimizer_{step}.pt", "scheduler": "scheduler_{step}.pt"}, "model"),
    "G_N and D_N": gan(),
    "ckpt_N_rankR.pt": ranks("ckpt_{step}_rank{rank}.pt"),
    "checkpoint and checkpoint_prev": previous("checkpoint.pt", "checkpoint_prev.pt"),
    "imagenet": imagenet(),
    "DCP, optim": distributed("step_{step}", ADAM, "optim"),
    "DCP, SGD": distributed("ckpt-{step}", SGD, "optimizer"),
}
# A file in a directory: the directory is what a program is given.
_write = HABITS["step_N/state.pt"][0]
HABITS["step_N/state.pt"] = (lambda folder, step: _write(folder, step).parent, HABITS["step_N/state.pt"][1])
