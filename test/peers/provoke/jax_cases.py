"""Failures of JAX programs; they need a venv that has jax, named by PROVOKE_JAX."""

import functools
import os
import signal
import subprocess

from lab import PROGRAMS, case, free_port

VENV = os.environ.get("PROVOKE_JAX")
HERE = "127.0.0.1"
TRAIN, PLAIN = PROGRAMS / "jaxtrain.py", PROGRAMS / "jaxplain.py"


@functools.cache
def version():
    return "jax " + subprocess.run(
        [VENV + "/bin/python3", "-c", "from importlib.metadata import version; print(version('jax'))"],
        check=True, capture_output=True, text=True).stdout.strip()


def jax_case(name, done):
    return case("jax-" + name, version, done) if VENV else lambda function: function


def start(lab, address, process, log, *argv):
    return lab.start(VENV + "/bin/python3", TRAIN, address, process, *argv, log=log)


def pair(name, done, *argv, first=0):
    @jax_case(name, "two processes of jax.distributed on the CPU: " + done)
    def _(lab):
        address = f"{HERE}:{free_port()}"
        processes = [start(lab, address, number, f"process{number}", *argv) for number in range(2)]
        processes[first].finish(360)  # a process that leaves waits 300 s for the others before it ends
        processes[1 - first].finish(360)


pair("process1-sigkill", "process 1 killed by SIGKILL", "--rank", 1, "--fail", "kill", first=1)
pair("process0-sigkill", "process 0, the coordinator, killed by SIGKILL", "--rank", 0, "--fail", "kill")
pair("process1-sigkill-idle", "process 1 killed by SIGKILL, no collectives meanwhile",
     "--rank", 1, "--fail", "kill", "--idle", first=1)
pair("process0-sigkill-idle", "process 0, the coordinator, killed by SIGKILL, no collectives meanwhile",
     "--rank", 0, "--fail", "kill", "--idle")
pair("process1-valueerror", "process 1 raises ValueError", "--rank", 1, "--fail", "value-error", first=1)
pair("process0-valueerror", "process 0, the coordinator, raises ValueError", "--rank", 0, "--fail", "value-error")
pair("process1-exit0-early", "process 1 leaves with 0", "--rank", 1, "--fail", "leave", first=1)


@jax_case("process1-restarted", "two processes of jax.distributed: process 1 killed and started again at once")
def _(lab):
    address = f"{HERE}:{free_port()}"
    argv = ("--rank", 1, "--fail", "sleep", "--idle", "--heartbeat-timeout", 60)
    processes = [start(lab, address, number, f"process{number}", *argv) for number in range(2)]
    processes[1].wait_for("step 3")
    processes[1].signal(signal.SIGKILL)
    processes[1].process.wait()
    again = start(lab, address, 1, "process1-again", *argv)
    again.finish(90)
    processes[0].finish(90)


@jax_case("sigterm", "two processes of jax.distributed on the CPU: SIGTERM to process 1")
def _(lab):
    address = f"{HERE}:{free_port()}"
    processes = [start(lab, address, number, f"process{number}") for number in range(2)]
    processes[1].wait_for("step 4")
    processes[1].signal(signal.SIGTERM)
    processes[1].finish(60)
    processes[0].finish(60)


@jax_case("no-coordinator", "process 1 of jax.distributed, process 0 never comes; initialization_timeout 5 s")
def _(lab):
    start(lab, f"{HERE}:{free_port()}", 1, None, "--initialization-timeout", 5).finish(120)


@jax_case("no-peers", "process 0 of jax.distributed, process 1 never comes; initialization_timeout 5 s")
def _(lab):
    start(lab, f"{HERE}:{free_port()}", 0, None, "--initialization-timeout", 5).finish(120)


for function, done in (
    ("oom", "an array of 1 PiB"), ("shapes", "a product of unequal shapes"), ("nan", "NaN under jax_debug_nans"),
    ("tracer", "a Python branch on a traced value"), ("platform", "the cuda platform asked for where there is none"),
):
    jax_case(function, done)(lambda lab, function=function: lab.run(VENV + "/bin/python3", PLAIN, function))
