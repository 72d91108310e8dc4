"""Writes whole trees of checkpoints with a real library, spoils one file of the newest in each of six ways, and lets the
library's own loader say what it makes of that.

Usage: trees.py MODULE FOLDER SEED SHARE

MODULE has FORMATS as server.py describes them, or HABITS: pairs of functions by name, write(folder, step) for one save
after another, which returns the path that a program would be given, and load(path), which returns its step. SHARE is how
many of the spoilt trees are made, from 0 to 1; SEED chooses them. The answer is FOLDER/cases.json.
"""

import importlib
import json
import os
import pathlib
import random
import shutil
import sys

import server

MUTATIONS = ["missing", "empty", "half", "zero tail", "zeros", "the one before"]
AGE = 60  # seconds between two saves


class Enough(BaseException):
    """Ends what would save for ever."""


class Journal:
    def __init__(self, folder, saves):
        self.folder, self.saves, self.paths, self.before = folder, saves, [], []

    def begin(self, generation):
        self.before.append(listing(self.folder))

    def end(self, generation, path):
        age(self.folder)
        self.paths.append(str(path))
        if len(self.paths) == self.saves:
            raise Enough


def age(folder):
    """Makes all files older, the oldest first, so that they stay in their order."""
    files = [(path.stat(), path) for path in pathlib.Path(folder).rglob("*") if path.is_file()]
    for stat, path in sorted(files, key=lambda file: file[0].st_mtime_ns):
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns - AGE * 10**9))


def listing(folder):
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file() and not path.is_symlink():
            stat = path.stat()
            found[str(path.relative_to(folder))] = (stat.st_size, stat.st_ino, stat.st_mtime_ns)
    return found


def written(folder, before):
    """The files of the last save."""
    return [name for name, now in listing(folder).items() if name not in before or before[name][0] != now[0]
            or before[name][1] != now[1] or abs(before[name][2] - AGE * 10**9 - now[2]) > 10**6]


def spoil(path, mutation, earlier):
    """Spoils one file, and keeps its times."""
    stat, data = path.stat(), path.read_bytes()
    path.unlink()  # other trees are linked to it
    if mutation == "missing":
        return True
    after = {"empty": b"", "half": data[:len(data) // 2], "zero tail": data[:len(data) // 2] + bytes(len(data) - len(data) // 2),
             "zeros": bytes(len(data)), "the one before": earlier}[mutation]
    if after is None or after == data:
        return False
    path.write_bytes(after)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    return True


def earlier(folder, name, pairs):
    """What the save before has in the place of a file of the newest."""
    for new, old in pairs:
        other = folder / name.replace(new, old)
        if name.replace(new, old) != name and other.is_file():
            return other.read_bytes()
    return None


def clone(source, target):
    shutil.copytree(source, target, symlinks=True, copy_function=os.link)


def loads(load, paths):
    """What the library says to each; a loader that dies has said no, and goes on with the next."""
    answers = []
    while len(answers) < len(paths):
        said = server.load(load, {"paths": paths[len(answers):]})["results"]
        died = next((i for i, one in enumerate(said) if one.get("error") == "the loader died"), len(said) - 1)
        answers += said[:died + 1]
    return answers


def main():
    module, out, seed, share = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    try:
        library = importlib.import_module(module)
    except ImportError as error:
        (out / "cases.json").write_text(json.dumps({"missing": str(error)}))
        return
    cases, failed = [], []
    for number, (name, (write, load)) in enumerate(sorted(getattr(library, "HABITS", {}).items())
                                                   + sorted(library.FORMATS.items())):
        folder = out / str(number) / "whole"
        folder.mkdir(parents=True)
        own = name in getattr(library, "HABITS", {})

        def produce(pipe):
            journal = Journal(folder, 3)
            try:
                if own:
                    for step in library.STEPS:
                        journal.begin(step)
                        journal.end(step, write(folder, step))
                write(folder, False, journal)
            except Enough:
                pass
            os.write(pipe, json.dumps({"paths": journal.paths, "files": written(folder, journal.before[-1])}).encode() + b"\n")

        child, pipe = server.fork(produce)
        made = list(server.lines(pipe))
        os.waitpid(child, 0)
        if not made or "failed" in made[0]:
            failed.append({"habit": name, "error": made[0]["failed"] if made else "died"})
            continue
        made = made[0]
        newest, before = (pathlib.Path(p).relative_to(folder) for p in made["paths"][:-3:-1])
        pairs = [(str(newest), str(before))]
        if own:
            pairs += [(f"{a}", f"{b}") for a, b in zip(library.names(library.STEPS[-1]), library.names(library.STEPS[-2]))]
        trees = [(None, "whole", folder)]
        draw = random.Random(f"{seed} {name}")
        for file in made["files"]:
            for mutation in MUTATIONS:
                if draw.random() >= share:
                    continue
                tree = out / str(number) / str(len(trees))
                clone(folder, tree)
                if spoil(tree / file, mutation, earlier(folder, file, pairs)):
                    trees.append((file, mutation, tree))
                else:
                    shutil.rmtree(tree)
        answers = loads(load, [str(tree / newest) for _, _, tree in trees])
        for (file, mutation, tree), answer in zip(trees, answers):
            cases.append({"habit": name, "file": file, "mutation": mutation, "tree": str(tree), "newest": str(newest),
                          "before": str(before), "step": library.STEPS[-1] if own else 0, "own": own,
                          "loaded": answer.get("generation"), "error": answer.get("error", "")})
    (out / "cases.json").write_text(json.dumps({"cases": cases, "failed": failed, "versions": library.VERSIONS}))


if __name__ == "__main__":
    main()
