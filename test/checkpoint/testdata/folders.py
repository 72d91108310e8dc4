"""What the scripts share that write directories as people have them, each with what is true of it: what a person would
resume from.

Usage of those: SCRIPT FOLDER SEED SHARE writes the directories for which this python has the libraries, of these such a
share, and FOLDER/trees.json: how many there are, and for each that was written its name, the directory that is given, and the truth: paths (one of which is right; none: a fresh start; "65": the job has to
ask) and the step, None where the content and the name say none.
"""

import importlib.util
import json
import os
import pathlib
import random
import sys

import trees

NOW = 1_780_000_000
TREES = {}


def tree(name, paths, step=None, given="."):
    def register(write):
        TREES[name] = (write, paths, step, given)
        return write

    return register


def has(*names):
    return all(importlib.util.find_spec(name) for name in names)


def times(folder, *order):
    """Gives files times a minute apart, in this order; all others are older."""
    for path in folder.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (NOW - 10**5, NOW - 10**5))
    for i, name in enumerate(order):
        for path in sorted(folder.glob(name)):
            for file in [path, *path.rglob("*")]:
                if not file.is_symlink():
                    os.utime(file, (NOW + 60 * i, NOW + 60 * i))


def cut(path):
    data = path.read_bytes()
    path.write_bytes(data[:len(data) // 2])


def library(write, saves=3):
    """Lets a library save so many times."""
    def build(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            write(folder, False, trees.Journal(folder, saves))
        except trees.Enough:
            pass

    return build


if has("torch"):
    import torch

    def parts(step=1):
        torch.manual_seed(step)
        model = torch.nn.Linear(20, 20)
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.ones(1, 20)).sum().backward()
        optimizer.step()
        return model, optimizer

    def state(seed, /, **more):
        model, optimizer = parts(seed)
        return {"model": model.state_dict(), "optimizer": optimizer.state_dict()} | more

    def weights(step=1):
        return parts(step)[0].state_dict()

    def save(path, what):
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(what, path)

    def shards(folder, files=2):
        """A model's weights in some files and their index, as Hugging Face's libraries save them."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        names = [f"model-{i:05d}-of-{files:05d}.safetensors" for i in range(1, files + 1)]
        for i, name in enumerate(names):
            save_file({f"w{i}": torch.ones(9)}, folder / name)
        (folder / "model.safetensors.index.json").write_text(json.dumps(
            {"metadata": {"total_size": 36 * files}, "weight_map": {f"w{i}": name for i, name in enumerate(names)}}))

    def series(folder, name, steps=(100, 200), **more):
        for step in steps:
            save(folder / name.format(step), state(step, **more))


def main():
    out, seed, share = pathlib.Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    index = []
    if has("torch"):
        parts()  # what the first optimizer imports is imported once
    chosen = random.Random(seed).sample(sorted(TREES.items()), max(1, round(share * len(TREES))))
    for number, (name, (write, paths, step, given)) in enumerate(chosen):
        folder = out / str(number)
        folder.mkdir()
        pid = os.fork()  # a library is as in a process of its own
        if pid == 0:
            code = 1
            try:
                write(folder)
                code = 0
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        failed = os.waitpid(pid, 0)[1] != 0
        index.append({"name": name, "given": str(folder / given), "paths": paths, "step": step, "failed": failed})
    (out / "trees.json").write_text(json.dumps({"all": len(TREES), "trees": index}))
