#!/usr/bin/env python3
"""A small Keras model trained under TensorFlow's MultiWorkerMirroredStrategy.

TF_CONFIG tells of the cluster; without it this is a gang of one. The result depends on the seed, the number of steps
and the number of workers, and not on interruptions.
"""

import os
import re
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # warnings and errors only

import keras
import tensorflow as tf

import report
import switches
from dying import Death

FEATURES = 8
SAMPLES = 1024
BATCH = 32  # of all workers together


def main():
    args = switches.parser("Train a small Keras model under MultiWorkerMirroredStrategy.").parse_args()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rank, world = place(strategy), strategy.num_replicas_in_sync
    death = Death(args, rank, world)
    keras.utils.set_random_seed(args.seed)
    with strategy.scope():
        model = keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(16, "tanh"), keras.layers.Dense(1)])
        optimizer = keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
    first = 1 + resume(args, strategy, rank, checkpoint)
    # Mirrored variables are the same at every worker, so one of them can save for all.
    manager = tf.train.CheckpointManager(checkpoint, args.checkpoint_dir, max_to_keep=3, checkpoint_name="step") \
        if args.checkpoint_dir and rank == 0 else None
    data = make_data(args.seed)
    train = make_train(strategy, model, optimizer)
    for step in range(first, args.steps + 1):
        time.sleep(args.step_time)
        death.at(step)
        loss = train(*batch(data, args.seed, step, rank, world))
        report.step(step)
        if rank == 0 and switches.due(step, args.log_every):
            print(f"step {step} loss {float(loss):.6f}", flush=True)
        if manager and switches.due(step, args.checkpoint_every):
            manager.save(checkpoint_number=step)
    if rank == 0:
        loss = float(tf.reduce_mean(tf.square(model(data[0]) - data[1])))
        print(f"final loss {loss:.9f} step {max(args.steps, first - 1)}", flush=True)


def place(strategy):
    """This worker's number among all; a chief comes before the workers."""
    resolver = strategy.cluster_resolver
    chiefs = resolver.cluster_spec().as_dict().get("chief", [])
    return (resolver.task_id or 0) + (len(chiefs) if resolver.task_type == "worker" else 0)


def make_train(strategy, model, optimizer):
    """The function of one step: takes this worker's part of the batch, returns the loss over all of it."""

    def one(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(model(x, training=True) - y)) / BATCH
        variables = model.trainable_variables
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    @tf.function
    def train(x, y):
        return strategy.reduce("SUM", strategy.run(one, args=(x, y)), axis=None)

    return train


def make_data(seed):
    x = tf.random.stateless_normal((SAMPLES, FEATURES), (seed, 0))
    slope = tf.random.stateless_normal((FEATURES, 1), (seed, 1))
    return x, tf.tanh(x @ slope) + 0.1 * tf.random.stateless_normal((SAMPLES, 1), (seed, 2))


def batch(data, seed, step, rank, world):
    """This worker's part of a step's batch: a function of seed and step, so a resumed run sees the same."""
    indices = tf.random.stateless_uniform((BATCH,), (seed, 1000 + step), 0, SAMPLES, tf.int32)[rank::world]
    return [tf.gather(column, indices) for column in data]


def resume(args, strategy, rank, checkpoint):
    """Restores the checkpoint that rank 0 has chosen, at every worker; returns its step (0 at a first start)."""
    path = os.environ.get("GANGRUN_RESUME_PATH") or \
        (args.checkpoint_dir and tf.train.latest_checkpoint(args.checkpoint_dir))
    mine = step_of(path) if path and rank == 0 else 0

    @tf.function
    def total():
        return strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(mine)))

    step = int(strategy.experimental_local_results(total())[0])
    if step == 0:
        if rank == 0:
            print(f"starting from step 0 with {strategy.num_replicas_in_sync} ranks", flush=True)
        return 0
    if not path or step_of(path) != step:
        raise RuntimeError(f"rank {rank} has no checkpoint of step {step}, where rank 0 resumes: is {path} shared?")
    checkpoint.restore(path.removesuffix(".index")).assert_consumed()
    if rank == 0:
        print(f"resumed from step {step}", flush=True)
    return step


def step_of(path):
    return int(re.search(r"-(\d+)(\.index)?$", path)[1])


if __name__ == "__main__":
    main()
