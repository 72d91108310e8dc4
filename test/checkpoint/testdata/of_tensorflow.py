"""Formats of TensorFlow, and of Keras on it."""

import itertools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy
import tensorflow

import of_keras
from content import ARRAYS, SHAPE, generation_of, value

VERSIONS = {library.__name__: library.__version__ for library in (tensorflow, keras)}


# tf.train.Checkpoint: bundles.

def bundle(now):
    return tensorflow.train.Checkpoint(
        generation=tensorflow.Variable(now, dtype="int64"),
        layers=[tensorflow.Variable(numpy.full(SHAPE, value(now, i), "float32")) for i in range(ARRAYS)])


def assign(checkpoint, now):
    checkpoint.generation.assign(now)
    for i, layer in enumerate(checkpoint.layers):
        layer.assign(numpy.full(SHAPE, value(now, i), "float32"))


def bundle_write(folder, in_place, journal):
    checkpoint = bundle(0)
    manager = tensorflow.train.CheckpointManager(checkpoint, str(folder), max_to_keep=None if in_place else 2)
    for now in itertools.count(1):
        assign(checkpoint, now)
        journal.begin(now)
        journal.end(now, manager.save(checkpoint_number=1 if in_place else now))


def bundle_load(path):
    checkpoint = bundle(0)
    checkpoint.read(str(path)).assert_existing_objects_matched()
    return generation_of([layer.numpy() for layer in checkpoint.layers], [checkpoint.generation.numpy()])


FORMATS = {"CheckpointManager": (bundle_write, bundle_load)} | of_keras.FORMATS
