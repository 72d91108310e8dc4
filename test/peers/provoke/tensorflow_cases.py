"""Failures of TensorFlow programs."""

import functools
import json
import signal
import socket
import subprocess

from lab import PROGRAMS, case, free_port, where

PYTHON = where("tensorflow") + "/bin/python3"
MWMS, PLAIN = PROGRAMS / "mwms.py", PROGRAMS / "tfplain.py"
HERE = "127.0.0.1"


@functools.cache
def version():
    return "tensorflow-cpu " + subprocess.run(
        [PYTHON, "-c", "from importlib.metadata import version; print(version('tensorflow-cpu'))"],
        check=True, capture_output=True, text=True).stdout.strip()


def config(addresses, index, kind="worker"):
    return json.dumps({"cluster": {"worker": addresses}, "task": {"type": kind, "index": index}})


class Cluster:
    """Two workers on this machine; a worker can be started again under its address."""

    def __init__(self, lab, *argv):
        self.lab, self.argv = lab, argv
        self.addresses = [f"{HERE}:{free_port()}" for _ in range(2)]
        self.workers = [self.start(index, f"worker{index}") for index in range(2)]

    def start(self, index, log):
        return self.lab.start(PYTHON, MWMS, *self.argv, log=log,
                              env={"TF_CONFIG": config(self.addresses, index), "GCE_METADATA_IP": HERE})


def pair(name, done, *argv, first=0):
    @case("tf-mwms-" + name, version, "two workers of MultiWorkerMirroredStrategy: " + done)
    def _(lab):
        workers = Cluster(lab, *argv).workers
        workers[first].finish(120)
        workers[1 - first].finish(120)


pair("worker1-sigkill", "worker 1 killed by SIGKILL in training", "--rank", 1, "--fail", "kill", first=1)
pair("worker0-sigkill", "worker 0, the leader, killed by SIGKILL in training", "--rank", 0, "--fail", "kill")
pair("worker1-valueerror", "worker 1 raises ValueError", "--rank", 1, "--fail", "value-error", first=1)
pair("worker0-valueerror", "worker 0, the leader, raises ValueError", "--rank", 0, "--fail", "value-error")
pair("worker1-exit0-early", "worker 1 leaves with 0 in training", "--rank", 1, "--fail", "leave", first=1)
pair("worker1-nan", "worker 1 meets NaN in check_numerics", "--rank", 1, "--fail", "nan", first=1)
pair("worker1-oom", "worker 1 asks for a tensor of 4 TiB", "--rank", 1, "--fail", "oom", first=1)


@case("tf-mwms-worker1-restarted", version,
      "two workers of MultiWorkerMirroredStrategy: worker 1 killed and started again at once, worker 0 goes on")
def _(lab):
    cluster = Cluster(lab, "--rank", 1, "--fail", "sleep")
    cluster.workers[1].wait_for("step 3")
    cluster.workers[1].signal(signal.SIGKILL)
    cluster.workers[1].process.wait()
    again = cluster.start(1, "worker1-again")
    again.finish(120)
    cluster.workers[0].finish(120)


@case("tf-mwms-sigterm", version, "two workers of MultiWorkerMirroredStrategy: SIGTERM to worker 1; after 20 s SIGKILL")
def _(lab):
    workers = Cluster(lab).workers
    workers[1].wait_for("step 4")
    workers[1].signal(signal.SIGTERM)
    workers[1].finish(20)
    workers[0].finish(60)


@case("tf-mwms-preemption-handler", version,
      "two workers under PreemptionCheckpointHandler: SIGTERM to worker 1")
def _(lab):
    workers = Cluster(lab, "--preemption-handler", lab.work / "checkpoints").workers
    workers[1].wait_for("step 4")
    workers[1].signal(signal.SIGTERM)
    workers[1].finish(60)
    workers[0].finish(60)


@case("tf-mwms-preemption-handler-sigkill", version,
      "two workers under PreemptionCheckpointHandler: worker 1 killed by SIGKILL")
def _(lab):
    workers = Cluster(lab, "--preemption-handler", lab.work / "checkpoints", "--rank", 1, "--fail", "kill").workers
    workers[1].finish(60)
    workers[0].finish(60)


@case("tf-mwms-preemption-handler-error", version,
      "two workers under PreemptionCheckpointHandler: worker 1 raises ValueError")
def _(lab):
    argv = ("--preemption-handler", lab.work / "checkpoints", "--rank", 1, "--fail", "value-error")
    workers = Cluster(lab, *argv).workers
    workers[1].finish(60)
    workers[0].finish(60)


def strategy(name, done, text, seconds=60):
    case("tf-config-" + name, version, "MultiWorkerMirroredStrategy() with a TF_CONFIG " + done)(
        lambda lab: lab.run(PYTHON, PLAIN, "strategy", env={"TF_CONFIG": text}, seconds=seconds))


strategy("not-json", "that is not JSON", "{cluster: worker}")
strategy("no-task", "without a task", json.dumps({"cluster": {"worker": [f"{HERE}:2222", f"{HERE}:2223"]}}))
strategy("bad-index", "whose task index is beyond the cluster", config([f"{HERE}:2222", f"{HERE}:2223"], 5))
strategy("bad-type", "whose task type is not in the cluster", config([f"{HERE}:2222", f"{HERE}:2223"], 0, "chief"))
strategy("unknown-host", "whose leader has no address; 30 s", config(["worker-0.invalid:2222", f"{HERE}:2223"], 1), 30)


@case("tf-config-port-taken", version, "MultiWorkerMirroredStrategy() whose port is taken by another program")
def _(lab):
    with socket.create_server((HERE, 0)) as listener:
        taken = f"{HERE}:{listener.getsockname()[1]}"
        lab.run(PYTHON, PLAIN, "strategy", env={"TF_CONFIG": config([taken, f"{HERE}:{free_port()}"], 0)}, seconds=60)


@case("tf-config-no-leader", version, "MultiWorkerMirroredStrategy() of worker 1, worker 0 never comes; 30 s")
def _(lab):
    lab.run(PYTHON, PLAIN, "strategy", seconds=30,
            env={"TF_CONFIG": config([f"{HERE}:{free_port()}", f"{HERE}:{free_port()}"], 1)})


for function, done in (
    ("oom", "a tensor of 4 TiB"), ("oom_in_graph", "a tensor of 16 TiB inside tf.function"),
    ("shapes", "a product of unequal shapes"),
    ("shapes_in_graph", "a product of unequal shapes inside tf.function"), ("nan", "enable_check_numerics meets NaN"),
    ("nan_keras", "Keras TerminateOnNaN stops a diverged model; the program ends well"),
    ("record_truncated", "a TFRecord file cut in the middle"), ("record_corrupt", "a TFRecord file with zeros in it"),
    ("record_missing", "a TFRecord file that is not there"), ("checkpoint_missing", "restore of a missing checkpoint"),
    ("checkpoint_truncated", "restore of a checkpoint cut in half"),
    ("checkpoint_no_data", "restore of a checkpoint without its data file"),
    ("checkpoint_mismatch", "restore into a variable of another shape"),
    ("keras_weights_missing", "Keras load_weights of a missing file"),
    ("keras_weights_truncated", "Keras load_weights of a file cut short"),
    ("data_error", "an error inside tf.data's map"), ("python_data_error", "an error inside a generator of tf.data"),
    ("gpu", "a GPU asked for where there is none"),
):
    case("tf-" + function.replace("_", "-"), version, done)(
        lambda lab, function=function: lab.run(PYTHON, PLAIN, function))
case("tf-checkpoint-save-full", version, "a checkpoint saved to a full disk")(
    lambda lab: lab.on_small_disk("1m", PYTHON, PLAIN, "checkpoint_save"))


@case("tf-sigterm", version, "SIGTERM to a program without a strategy")
def _(lab):
    program = lab.start(PYTHON, PLAIN, "train")
    program.wait_for("step 3")
    program.signal(signal.SIGTERM)
    program.finish(60)
