"""Directories of training loops that are put together from habits which have nothing to do with each other: how the saves are
named, what is in them, what lies beside them, what has happened to the last one.

Usage: everyday.py FOLDER SEED COUNT writes so many, and FOLDER/trees.json as folders.py says. What is true follows from how
a directory was made, and from nothing that gangrun says.
"""

import json
import os
import pathlib
import random
import sys

import numpy
import torch

from folders import NOW, cut, parts, save, weights

UNITS = ["step", "step", "step", "iter", "epoch", "epoch"]

# How one file, or one directory, of each save is named. {n} is how far it is, {u} the word for it.
FILES = ["checkpoint_{n}.pt", "ckpt_{u}_{n}.pt", "{u}_{n}.pth", "{u}{n}.ckpt", "model_{u}_{n}.pth.tar", "ckpt-{n:06d}.pt",
         "{n}.pt", "net_{n}.pth", "{u}={n}.ckpt", "resnet50_{u}{n}.pt", "checkpoint-{u}-{n}.tar", "state_{n}.bin", "run1_{u}_{n}.pt",
         "bert-base-{u}-{n}.pt", "ckpt_{n}_loss0.31.pt", "{u}_{n}_acc_91.2.pth", "my_model_{n}.th", "snapshot_{u}_{n}", "vae.{n}.pt",
         "{u}-{n:07d}.checkpoint", "ckpt.{n}.pkl", "gpt2_124m_{u}_{n:05d}.pt", "Model-{u}-{n}.pt", "training_state_{n}.pt"]
FOLDERS = ["checkpoint-{n}", "{u}_{n}", "ckpt_{n:06d}", "{n}", "{u}-{n}", "save_{u}_{n}", "checkpoint_{u}_{n}", "{u}{n}", "global_{u}_{n}", "model_{n}",
           "iter_{n:07d}", "ckpt-{u}-{n}", "{n:08d}"]

# What a directory of one save holds: the name of each file, and which part it is.
INSIDE = [
    {"state.pt": "all"},
    {"checkpoint.pth": "all"},
    {"model.pt": "model", "optimizer.pt": "optimizer"},
    {"model.pt": "model", "optim.pt": "optimizer", "sched.pt": "scheduler"},
    {"pytorch_model.bin": "model", "training_state.pt": "rest"},
    {"model.safetensors": "safetensors", "optimizer.pt": "optimizer", "config.json": "json"},
    {"model.safetensors": "safetensors", "optim.bin": "optimizer"},
    {"weights/model.pt": "model", "optimizer/optim.pt": "optimizer"},
    {"model/model.pt": "model", "optim/state.pt": "optimizer"},
    {"model.pt": "model", "trainer.pt": "rest", "args.json": "json"},
    {"rank0.pt": "all", "rank1.pt": "all"},
    {"rank_0.pt": "all", "rank_1.pt": "all", "rank_2.pt": "all"},
    {"model_rank0.pt": "model", "optim_rank0.pt": "optimizer", "model_rank1.pt": "model", "optim_rank1.pt": "optimizer"},
    {"model_0.pt": "model", "model_1.pt": "model", "optimizer_0.pt": "optimizer", "optimizer_1.pt": "optimizer"},
    {"generator.pt": "model", "discriminator.pt": "model", "optimizers.pt": "optimizer"},
    {"netG.pth": "model", "netD.pth": "model", "optG.pth": "optimizer", "optD.pth": "optimizer"},
    {"actor.pt": "model", "critic.pt": "model", "state.pt": "rest"},
    {"encoder.pt": "model", "decoder.pt": "model", "optimizer.pt": "optimizer", "meta.json": "json"},
    {"weights.npz": "numpy", "optimizer.npz": "moments"},
    {"model_state.pt": "model", "opt_state.pt": "optimizer", "rng.pt": "rng"},
    {"unet/model.safetensors": "safetensors", "vae/model.safetensors": "safetensors", "optimizer.pt": "optimizer"},
    {"data.pkl": "pickle"},
]

# Files of one save side by side, each with how far it is in its name.
SIDE = [
    {"model_{n}.pt": "model", "optimizer_{n}.pt": "optimizer"},
    {"{u}_{n}_model.pt": "model", "{u}_{n}_optim.pt": "optimizer"},
    {"model_{u}{n}.pth": "model", "optim_{u}{n}.pth": "optimizer", "sched_{u}{n}.pth": "scheduler"},
    {"G_{n}.pth": "all", "D_{n}.pth": "all"},
    {"netG_{u}_{n}.pth": "all", "netD_{u}_{n}.pth": "all"},
    {"generator_{n}.pt": "model", "discriminator_{n}.pt": "model", "optimizers_{n}.pt": "optimizer"},
    {"ckpt_{n}_rank0.pt": "all", "ckpt_{n}_rank1.pt": "all"},
    {"{u}_{n}_rank_0_of_2.pt": "all", "{u}_{n}_rank_1_of_2.pt": "all"},
    {"actor_{n}.pt": "all", "critic_{n}.pt": "all"},
    {"ckpt_{n}.pt": "all", "ckpt_{n}_ema.pt": "model"},
    {"weights_{n}.npz": "numpy", "opt_{n}.npz": "moments"},
    {"model.{n}.safetensors": "safetensors", "optimizer.{n}.pt": "optimizer"},
]

# What is written over by each save: the name, and how many saves it is behind.
PLACES = [
    {"checkpoint.pt": 0},
    {"last.pt": 0, "best.pt": 1},
    {"latest.pth": 0, "best.pth": 1},
    {"ckpt.pt": 0, "ckpt_prev.pt": 1},
    {"model_last.ckpt": 0, "model_best.ckpt": 1},
    {"checkpoint_latest.tar": 0},
    {"state": 0},
    {"model.pt": 0, "model.pt.bak": 1},
    {"current.pkl": 0},
]


class Loop:
    """One training loop, and what it has left."""

    def __init__(self, folder, rng):
        self.folder, self.rng, self.clock = folder, rng, 0
        self.unit = rng.choice(UNITS)
        every = 1 if self.unit == "epoch" else rng.choice([10, 100, 500, 1000])
        self.saves = [every * i for i in range(1, rng.randint(2, 6))]
        self.says = rng.random() < 0.6  # its files say how far they are
        self.key = {"step": ["step", "global_step", "steps"], "iter": ["iter", "iteration", "it"], "epoch": ["epoch"]}[self.unit]
        self.key = rng.choice(self.key)
        self.truth = {}  # of each save, its paths and whether its content says how far it is

    def tick(self, path, minutes=1):
        """The file was written now."""
        self.clock += 60 * minutes
        os.utime(path, (NOW + self.clock, NOW + self.clock))

    def put(self, path, part, n):
        path.parent.mkdir(parents=True, exist_ok=True)
        model, optimizer = parts(n)
        told = {self.key: n} if self.says else {}
        match part:
            case "all":
                save(path, {"model": model.state_dict(), "optimizer": optimizer.state_dict()} | told)
            case "model":
                save(path, model.state_dict())
            case "optimizer":
                save(path, optimizer.state_dict())
            case "scheduler":
                save(path, {"last_epoch": n, "base_lrs": [0.1]})
            case "rest":
                save(path, {"optimizer": optimizer.state_dict(), "rng_state": torch.get_rng_state()} | told)
            case "rng":
                save(path, {"torch": torch.get_rng_state()})
            case "safetensors":
                from safetensors.torch import save_file

                save_file(model.state_dict(), path)
            case "numpy":
                with open(path, "wb") as out:
                    numpy.savez(out, w=numpy.ones(9) * n)
            case "moments":
                with open(path, "wb") as out:
                    numpy.savez(out, exp_avg=numpy.ones(9) * n, exp_avg_sq=numpy.ones(9))
            case "pickle":
                import pickle

                with open(path, "wb") as out:
                    pickle.dump({"w": numpy.ones(9), "optimizer": {"m": numpy.ones(9)}} | told, out)
            case "json":
                path.write_text(json.dumps({"lr": 0.1, "hidden": 20}))
        self.tick(path)

    def tells(self, inside):
        """A file of these says how far the save is."""
        return self.says and any(part in ("all", "rest", "pickle") for part in inside.values())

    def name(self, pattern, n):
        return pattern.format(n=n, u=self.unit)

    # The layouts. Each returns what the last save consists of: its files, in the order in which they were written.

    def one_file(self):
        pattern = self.rng.choice(FILES)
        for n in self.saves:
            path = self.folder / self.name(pattern, n)
            self.put(path, "all", n)
            self.truth[n] = [path], n
        return [path], True

    def one_folder(self):
        inside = self.rng.choice(INSIDE)
        # Of model_0.pt in a directory of which nothing says that it is of one step nobody can tell what it is the number of.
        pattern = self.rng.choice([name for name in FOLDERS if "model_0.pt" not in inside or "{u}" in name or "ck" in name])
        for n in self.saves:
            folder = self.folder / self.name(pattern, n)
            files = []
            for name, part in inside.items():
                self.put(folder / name, part, n)
                files.append(folder / name)
            self.truth[n] = [folder, *([files[0]] if len(files) == 1 else [])], n
        self.optional = {path for path, part in zip(files, inside.values()) if part == "json"}
        return files, len(self.saves) > 1

    def side_by_side(self):
        side = self.rng.choice(SIDE)
        for n in self.saves:
            files = [self.folder / self.name(name, n) for name in side]
            for path, part in zip(files, side.values()):
                self.put(path, part, n)
            self.truth[n] = files, n
        return files, len(self.saves) > 1

    def in_place(self):
        places = self.rng.choice(PLACES)
        saved = {}
        for i, n in enumerate(self.saves):
            for name, behind in reversed(places.items()):
                if i >= behind:
                    path = self.folder / name
                    self.put(path, "all", self.saves[i - behind])
                    saved[self.saves[i - behind]] = path
        for n, path in saved.items():
            if n in self.saves[-2:]:
                self.truth[n] = [path], n if self.says else None
        if len(places) == 1:
            self.truth = {n: t for n, t in self.truth.items() if n == self.saves[-1]}
        return [saved[self.saves[-1]]], len(places) > 1

    def in_epochs(self):
        """A directory of each epoch, and in it a save every so many steps."""
        self.unit, self.key = "step", "step"
        pattern = self.rng.choice(["epoch_{}", "epoch{}", "ep{:03d}"])
        inner = self.rng.choice(["step_{}.pt", "iter_{}.pt", "ckpt_{}.pt", "step_{}/state.pt"])
        n = 0
        self.saves = []
        epochs = self.rng.randint(1, 3)
        for epoch in range(epochs):
            for _ in range(2 if epoch + 1 < epochs else self.rng.randint(1, 2)):
                n += 500
                path = self.folder / pattern.format(epoch) / inner.format(n)
                self.put(path, "all", n)
                self.saves.append(n)
                self.truth[n] = [path, path.parent], n
        return [path], True

    # What lies beside.

    def beside(self):
        f, rng = self.folder, self.rng
        some = lambda p: rng.random() < p
        if some(0.25):
            (f / f"events.out.tfevents.{NOW}.host.1.0").write_bytes(bytes(300))
        if some(0.2):
            (f / "tb").mkdir(exist_ok=True)
            (f / "tb" / f"events.out.tfevents.{NOW}.host.1.0").write_bytes(bytes(300))
        if some(0.3):
            (f / "config.yaml").write_text("lr: 0.1\n")
        if some(0.2):
            (f / "args.json").write_text('{"lr": 0.1, "epochs": 10}')
        if some(0.1):
            save(f / "args.pt", {"lr": 0.1, "epochs": 10, "name": "run"})
        if some(0.2):
            (f / "train.log").write_text("step 1\nstep 2\n")
        if some(0.15):
            (f / "metrics.jsonl").write_text('{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2.4}\n')
        if some(0.15):
            (f / "samples").mkdir(exist_ok=True)
            for n in self.saves:
                (f / f"samples/step_{n}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
        if some(0.1):
            (f / "wandb/run-20260101_000000-abc").mkdir(parents=True)
            (f / "wandb/run-20260101_000000-abc/files.txt").write_text("x")
        if some(0.1):
            (f / "pretrained").mkdir(exist_ok=True)
            save(f / "pretrained/model.pt", weights(7))
        if some(0.1):
            (f / "vocab.json").write_text('{"a": 1}')
        if some(0.08):
            (f / "code").mkdir(exist_ok=True)
            (f / "code/train.py").write_text("print(1)\n")
        if some(0.08):
            numpy.save(f / "losses.npy", numpy.ones(10))
        if some(0.08):
            (f / ".hydra").mkdir(exist_ok=True)
            (f / ".hydra/config.yaml").write_text("lr: 0.1\n")
        if some(0.08):
            (f / "lost+found").mkdir(exist_ok=True)

    def build(self):
        layout = self.rng.choices([self.one_file, self.one_folder, self.side_by_side, self.in_place, self.in_epochs], [4, 6, 4, 3, 1])[0]
        self.optional = set()
        self.layout = layout.__name__
        last, older = layout()
        fate = self.rng.choices(["whole", "cut", "empty", "missing", "temporary"], [5, 2, 1, 1, 1])[0]
        if fate != "whole" and layout == self.in_place and (not older or len(self.saves) < 2):
            fate = "whole"  # what is left of the only one is somebody else's question
        if fate == "missing" and (len(last) < 2 or len(self.saves) < 2):
            fate = "cut"
        victim = self.rng.choice([path for path in last if path not in self.optional])
        match fate:
            case "cut":
                cut(victim)
                self.tick(victim)
            case "empty":
                victim.write_bytes(b"")
                self.tick(victim)
            case "missing":
                victim.unlink()
            case "temporary":
                (victim.parent / (victim.name + ".tmp")).write_bytes(bytes(100))
        self.beside()
        if fate in ("cut", "empty", "missing"):
            self.truth.pop(self.saves[-1])
        self.about = [self.layout, fate, ", ".join(str(path.relative_to(self.folder)) for path in last)]
        if not self.truth:
            return [], None
        paths, step = self.truth[max(self.truth)]
        return [str(path.relative_to(self.folder)) for path in paths], step


def main():
    out, seed, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    parts()  # what the first optimizer imports is imported once
    index = []
    for number in range(count):
        folder = out / str(number)
        folder.mkdir(parents=True)
        loop = Loop(folder, random.Random(seed * 1_000_003 + number))
        paths, step = loop.build()
        index.append({"name": f"{number}: " + "; ".join(loop.about), "given": str(folder), "paths": paths, "step": step, "failed": False})
    (out / "trees.json").write_text(json.dumps({"all": count, "trees": index}))


if __name__ == "__main__":
    main()
