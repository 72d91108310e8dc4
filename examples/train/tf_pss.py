#!/usr/bin/env python3
"""A small model trained under TensorFlow's ParameterServerStrategy.

TF_CONFIG tells which part this process plays: the chief gives work to the workers, which change the variables that the
parameter servers hold. Workers and parameter servers never end by themselves. An evaluator follows the checkpoints.
"""

import os
import re
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # warnings and errors only

import tensorflow as tf

import report
import switches
from dying import Death

FEATURES = 8
BATCH = 32


def main():
    args = switches.parser("Train a small model under ParameterServerStrategy.").parse_args()
    told = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    task, index = told.task_type, told.task_id
    # A TFJob lists the evaluator too, which serves nobody: the chief would wait for it for ever.
    cluster = {role: tasks for role, tasks in told.cluster_spec().as_dict().items() if role != "evaluator"}
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster), task_type=task, task_id=index, rpc_layer="grpc")
    if task == "evaluator":
        evaluate(args)
    elif task in ("worker", "ps"):
        print(f"{task} {index} serves", flush=True)
        tf.distribute.Server(resolver.cluster_spec(), job_name=task, task_index=index, protocol="grpc").join()
    else:
        lead(args, tf.distribute.ParameterServerStrategy(resolver))


def lead(args, strategy):
    """The chief's part: training is over when its last step is."""
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    death = Death(args, 0, 1)
    with strategy.scope():
        slope = tf.Variable(tf.zeros((FEATURES, 1)), name="slope")
    checkpoint = tf.train.Checkpoint(slope=slope)
    manager = tf.train.CheckpointManager(checkpoint, args.checkpoint_dir, max_to_keep=3, checkpoint_name="step") \
        if args.checkpoint_dir else None
    first = 1 + resume(args, checkpoint)

    @tf.function
    def work(step):
        x = tf.random.stateless_normal((BATCH, FEATURES), tf.stack([args.seed, step]))
        y = tf.reduce_sum(x, axis=1, keepdims=True)
        error = x @ slope - y
        slope.assign_sub(0.05 * tf.matmul(x, error, transpose_a=True) / BATCH)
        return tf.reduce_mean(tf.square(error))

    for step in range(first, args.steps + 1):
        time.sleep(args.step_time)
        death.at(step)
        loss = coordinator.schedule(work, args=(tf.constant(step),))
        coordinator.join()
        report.step(step)
        if switches.due(step, args.log_every):
            print(f"step {step} loss {float(loss.fetch()):.6f}", flush=True)
        if manager and switches.due(step, args.checkpoint_every):
            manager.save(checkpoint_number=step)
    # A piece of work may have been done twice, when its worker was lost: the last digits are not always the same.
    error = float(tf.reduce_max(tf.abs(slope - 1)))
    print(f"final error {error:.3f} step {max(args.steps, first - 1)}", flush=True)


def resume(args, checkpoint):
    """Restores the checkpoint that is handed over, or the newest; returns its step (0 at a first start)."""
    path = os.environ.get("GANGRUN_RESUME_PATH") or \
        (args.checkpoint_dir and tf.train.latest_checkpoint(args.checkpoint_dir))
    if not path:
        print("starting from step 0", flush=True)
        return 0
    checkpoint.restore(path.removesuffix(".index")).assert_consumed()
    step = step_of(path)
    print(f"resumed from step {step}", flush=True)
    return step


def evaluate(args):
    """The evaluator's part: it looks at each checkpoint, for as long as it may."""
    for path in tf.train.checkpoints_iterator(args.checkpoint_dir):
        print(f"evaluated step {step_of(path)}", flush=True)


def step_of(path):
    return int(re.search(r"-(\d+)(\.index)?$", path)[1])


if __name__ == "__main__":
    main()
