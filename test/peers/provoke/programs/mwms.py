"""A worker of MultiWorkerMirroredStrategy that trains until the one named by --rank fails as --fail says.

Prints "step N" to standard output after each step.
"""

import argparse
import json
import os
import signal
import sys
import time

import tensorflow as tf


def fail(how):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "value-error":
        raise ValueError("learning rate must be positive, got -1.0")
    elif how == "leave":
        sys.exit(0)
    elif how == "nan":
        tf.debugging.check_numerics(tf.math.log(tf.constant([-1.0])), "loss")
    elif how == "oom":
        tf.ones([1 << 20, 1 << 20])
    elif how == "sleep":
        time.sleep(3600)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fail")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--preemption-handler")
    parser.add_argument("--steps", type=int, default=100000)
    args = parser.parse_args()
    index = json.loads(os.environ["TF_CONFIG"]).get("task", {}).get("index", 0)

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weight = tf.Variable(1.0)

    @tf.function
    def step():
        def replica():
            gradient = tf.distribute.get_replica_context().all_reduce("SUM", weight * 0.01)
            weight.assign_sub(gradient)
            return gradient
        return strategy.reduce("SUM", strategy.run(replica), axis=None)

    handler = None
    if args.preemption_handler:
        handler = tf.distribute.experimental.PreemptionCheckpointHandler(
            strategy.cluster_resolver, tf.train.Checkpoint(weight=weight), args.preemption_handler)
    for number in range(1, args.steps + 1):
        if handler:
            handler.run(step)
        else:
            step()
        print("step", number, flush=True)
        if number == 3 and args.fail and args.rank == index:
            fail(args.fail)
        if number > 3:
            time.sleep(0.05)


main()
