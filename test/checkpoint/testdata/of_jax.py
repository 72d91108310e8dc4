"""Formats of jax."""

import itertools
import logging
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy
import orbax.checkpoint as ocp

from content import ARRAYS, SHAPE, generation_of, value

logging.getLogger("absl").setLevel(logging.CRITICAL)
VERSIONS = {"jax": jax.__version__, "orbax": ocp.__version__}


def state(now):
    return {f"layer{i}": jax.numpy.full(SHAPE, value(now, i)) for i in range(ARRAYS)} | {"generation": now}


def orbax_write(folder, in_place, journal):
    if in_place:
        saver, path = ocp.StandardCheckpointer(), folder / "1"
        for now in itertools.count(1):
            made = state(now)
            journal.begin(now)
            saver.save(path, made, force=True)
            saver.wait_until_finished()
            journal.end(now, path)
    with ocp.CheckpointManager(folder, options=ocp.CheckpointManagerOptions(max_to_keep=2)) as manager:
        for now in itertools.count(1):
            made = state(now)
            journal.begin(now)
            manager.save(now, args=ocp.args.StandardSave(made))
            manager.wait_until_finished()
            journal.end(now, folder / str(now))


def orbax_load(path):
    item = path / "default"
    loaded = ocp.StandardCheckpointer().restore(item if item.exists() else path, state(0))
    return generation_of([numpy.asarray(loaded[f"layer{i}"]) for i in range(ARRAYS)], [loaded["generation"]])


FORMATS = {"CheckpointManager": (orbax_write, orbax_load)}
