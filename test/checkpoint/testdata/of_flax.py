"""flax's own files: one of msgpack for each save."""

import itertools
import logging
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import flax
import flax.serialization
import jax
import numpy
from flax.training import checkpoints

from content import ARRAYS, SHAPE, generation_of, value

logging.getLogger("absl").setLevel(logging.CRITICAL)
flax.config.update("flax_use_orbax_checkpointing", False)
VERSIONS = {"flax": flax.__version__, "jax": jax.__version__}


def state(now):
    arrays = {f"layer{i}": numpy.full(SHAPE, value(now, i), "float32") for i in range(ARRAYS)}
    return {"params": arrays, "opt_state": {"mu": {"layer0": numpy.full(SHAPE, value(now, 0), "float32")}}, "step": now}


def generation(loaded):
    return generation_of([numpy.asarray(loaded["params"][f"layer{i}"]) for i in range(ARRAYS)],
                         [loaded["step"], numpy.asarray(loaded["opt_state"]["mu"]["layer0"]).flat[0] / 1000])


def checkpoints_write(folder, in_place, journal):
    for now in itertools.count(1):
        made, step = state(now), 1 if in_place else now
        journal.begin(now)
        journal.end(now, checkpoints.save_checkpoint(str(folder), made, step, keep=2, overwrite=in_place))


def checkpoints_load(path):
    return generation(checkpoints.restore_checkpoint(str(path), state(0)))


def bytes_write(folder, in_place, journal):
    for now in itertools.count(1):
        made, path = state(now), folder / f"state_{1 if in_place else now}.msgpack"
        journal.begin(now)
        path.write_bytes(flax.serialization.to_bytes(made))
        journal.end(now, path)


def bytes_load(path):
    return generation(flax.serialization.from_bytes(state(0), path.read_bytes()))


FORMATS = {"flax.training.checkpoints": (checkpoints_write, checkpoints_load), "flax to_bytes": (bytes_write, bytes_load)}
