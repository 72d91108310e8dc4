"""Formats of Keras, on the backend that KERAS_BACKEND names: whole models, weights, and the backup of a training under way."""

import itertools
import os
import pathlib
import shutil
import sys
import tempfile
import types

import numpy

if os.environ.get("KERAS_BACKEND") == "jax":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    for name in ("scipy", "scipy.sparse", "scipy.sparse.linalg"):  # large, and imported by jax without being used here
        module = sys.modules[name] = types.ModuleType(name)
        module.__getattr__ = lambda name: type(name, (), {})

import keras

from content import SHAPE, generation_of, value

VERSIONS = {"keras on " + keras.backend.backend(): keras.__version__}

SHARD = 0.002  # GB
LAYERS = 8  # each with three arrays: its weights, and two of the optimizer; Keras takes its time for every layer


def model():
    inputs = keras.Input((SHAPE[0],))
    layers = [keras.layers.Dense(SHAPE[1], use_bias=False) for _ in range(LAYERS)]
    made = keras.Model(inputs, keras.layers.Add()([layer(inputs) for layer in layers]))
    made.compile("adam", "mse", run_eagerly=True)
    made.optimizer.build(made.trainable_variables)
    return made


def variables(model):
    """Weights, and the state of the optimizer."""
    return [v for v in model.weights + model.optimizer.variables if v.shape == SHAPE]


def fill(model, now):
    for i, variable in enumerate(variables(model)):
        variable.assign(numpy.full(SHAPE, value(now, i), "float32"))
    model.optimizer.iterations.assign(now)


def filled(model):
    found = variables(model)
    if len(found) != 3 * LAYERS:
        raise ValueError(f"{len(found)} arrays, and not those of the weights and of the optimizer")
    return generation_of([v.numpy() for v in found], [model.optimizer.iterations.numpy()])


def keras_write(name, save):
    def write(folder, in_place, journal):
        made = model()
        for now in itertools.count(1):
            fill(made, now)
            path = folder / name.format(1 if in_place else now)
            journal.begin(now)
            save(made, path)
            journal.end(now, path)

    return write


def keras_load(path):
    return filled(keras.models.load_model(path))


def weights_load(path):
    made = model()
    made.load_weights(path)
    return filled(made)


class Filling(keras.callbacks.Callback):
    """Comes before BackupAndRestore in the list of callbacks, which saves at the end of an epoch."""

    def __init__(self, journal):
        super().__init__()
        self.journal = journal

    def on_epoch_end(self, epoch, logs=None):
        fill(self.model, epoch + 1)
        self.journal.begin(epoch + 1)


class Filled(keras.callbacks.Callback):
    """Comes after it."""

    def __init__(self, journal, path):
        super().__init__()
        self.journal, self.path = journal, path

    def on_epoch_end(self, epoch, logs=None):
        self.journal.end(epoch + 1, self.path)


def data():
    return numpy.zeros((1, SHAPE[0]), "float32"), numpy.zeros((1, SHAPE[1]), "float32")


def backup_write(folder, in_place, journal):
    saving = keras.callbacks.BackupAndRestore(str(folder), double_checkpoint=True)
    callbacks = [Filling(journal), saving, Filled(journal, folder / "latest.weights.h5")]
    model().fit(*data(), epochs=10**6, verbose=0, callbacks=callbacks)


class Restored(keras.callbacks.Callback):
    found, epoch = None, None

    def on_epoch_begin(self, epoch, logs=None):
        self.found, self.epoch = filled(self.model), epoch
        raise StopIteration


def backup_load(path):
    """Loads by going on with the training, from a copy: with this pair of files and no other."""
    restored, suffix = Restored(), path.name.removeprefix("latest.weights.h5")
    with tempfile.TemporaryDirectory() as copy:
        for name in ("latest.weights.h5", "training_metadata.json"):
            shutil.copy(path.parent / (name + suffix), pathlib.Path(copy, name))
        try:
            callbacks = [keras.callbacks.BackupAndRestore(copy), restored]
            model().fit(*data(), epochs=10**6, verbose=0, callbacks=callbacks)
        except StopIteration:
            pass
    if restored.epoch != restored.found:
        raise ValueError(f"training would go on at epoch {restored.epoch} with weights of {restored.found}")
    return restored.found


FORMATS = {
    "BackupAndRestore": (backup_write, backup_load),
    ".keras": (keras_write("model_{}.keras", lambda made, path: made.save(path)), keras_load),
    ".weights.json": (keras_write("model_{}.weights.json", lambda made, path: made.save_weights(path, max_shard_size=SHARD)), weights_load),
    ".weights.h5": (keras_write("model_{}.weights.h5", lambda made, path: made.save_weights(path)), weights_load),
}
