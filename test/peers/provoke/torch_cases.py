"""Failures of torchrun and of torch programs over gloo."""

import functools
import os
import signal
import socket
import subprocess

from lab import PROGRAMS, case, free_port, where

PIECE = os.environ.get("PROVOKE_TORCH", "torch")
BIN = where(PIECE) + "/bin"
PYTHON, TORCHRUN = BIN + "/python3", BIN + "/torchrun"
DDP = PROGRAMS / "ddp.py"
# A second version's logs lie beside the first's under names of their own.
PREFIX = "" if PIECE == "torch" else PIECE + "-"


@functools.cache
def version():
    return "torch " + subprocess.run(
        [PYTHON, "-c", "from importlib.metadata import version; print(version('torch'))"],
        check=True, capture_output=True, text=True).stdout.strip()


def standalone(lab, *argv, seconds=240, **more):
    lab.run(TORCHRUN, "--standalone", "--nproc-per-node", 2, *argv, seconds=seconds, **more)


def torchrun_case(name, done, *argv):
    case(PREFIX + "torchrun-" + name, version, "torchrun --standalone --nproc-per-node 2: " + done)(
        lambda lab: standalone(lab, *argv))


def both(*argv):
    return (DDP, "--rank", "-1", *argv)


def one(rank, how, *more):
    return (DDP, "--rank", rank, "--fail", how, *more)


for name, done, argv in (
    ("rank1-sigkill", "rank 1 killed by SIGKILL in training", one(1, "kill")),
    ("rank0-sigkill", "rank 0 killed by SIGKILL in training", one(0, "kill")),
    ("rank1-sigterm", "rank 1 killed by SIGTERM in training", one(1, "term")),
    ("rank1-segv", "rank 1 reads address 0", one(1, "segv")),
    ("rank1-segv-faulthandler", "rank 1 reads address 0 with faulthandler on", one(1, "segv-faulthandler")),
    ("rank1-abort", "rank 1 calls abort()", one(1, "abort")),
    ("rank1-valueerror", "rank 1 raises ValueError, no @record", one(1, "value-error")),
    ("rank1-exit3", "rank 1 calls sys.exit(3)", one(1, "exit-3")),
    ("rank1-exit143", "rank 1 calls sys.exit(143)", one(1, "exit-143")),
    ("rank1-exit0-early", "rank 1 leaves with 0 in the middle of training", one(1, "leave")),
    ("rank1-memory", "rank 1 asks torch for 256 TiB", one(1, "memory")),
    ("rank1-memoryerror", "rank 1 meets Python's MemoryError under RLIMIT_AS", one(1, "memory-limit")),
    ("rank1-shapes", "rank 1 multiplies matrices of unequal shape", one(1, "shapes")),
    ("rank1-index", "rank 1 looks up an index outside an embedding", one(1, "index")),
    ("rank1-nan-anomaly", "rank 1 meets NaN under detect_anomaly", one(1, "nan")),
    ("rank1-cuda", "rank 1 uses CUDA where there is none", one(1, "cuda")),
    ("both-valueerror", "both ranks raise ValueError at once", both("--fail", "value-error")),
    ("both-sigkill", "both ranks killed at once", both("--fail", "kill")),
    ("nccl-no-gpu", "both ranks ask for NCCL without a GPU", both("--fail", "nccl")),
    ("collective-size", "both ranks gather tensors of unequal size", both("--fail", "collective-size")),
    ("rank1-stuck", "rank 1 sleeps, collectives time out after 5 s", one(1, "sleep", "--timeout", "5")),
    ("monitored-barrier", "rank 1 sleeps, rank 0 waits in monitored_barrier for 5 s",
     one(1, "sleep", "--timeout", "5", "--also", "barrier")),
    ("script-missing", "the script does not exist", ("/workspace/not_there.py",)),
    ("import-error", "both ranks import a module that is not there", both("--fail", "import")),
    ("script-args", "the script gets an argument it does not know", (DDP, "--learning-rate", "0.1")),
):
    torchrun_case(name, done, *argv)

case(PREFIX + "torchrun-max-restarts", version,
     "torchrun --standalone --nproc-per-node 2 --max-restarts 1: rank 1 killed by SIGKILL in each attempt")(
    lambda lab: standalone(lab, "--max-restarts", 1, *one(1, "kill")))
case(PREFIX + "torchrun-bad-flag", version, "torchrun with a flag it does not know")(
    lambda lab: lab.run(TORCHRUN, "--no-such-flag", DDP))
case(PREFIX + "torchrun-bad-nnodes", version, "torchrun --nnodes two")(
    lambda lab: lab.run(TORCHRUN, "--nnodes", "two", DDP))
case(PREFIX + "torchrun-python-missing", version, "torchrun --no-python with a program that does not exist")(
    lambda lab: standalone(lab, "--no-python", "/workspace/not-there"))
case(PREFIX + "torchrun-tee", version, "torchrun --standalone --nproc-per-node 2 --tee 3: rank 1 raises ValueError")(
    lambda lab: standalone(lab, "--tee", 3, "--log-dir", lab.work / "log", *one(1, "value-error")))


def recorded(name, done, *argv):
    @case(PREFIX + "torchrun-" + name, version,
          "torchrun --standalone --nproc-per-node 2, @record, TORCHELASTIC_ERROR_FILE set for torchrun: " + done)
    def _(lab):
        error_file = lab.work / "error.json"
        program = lab.start(TORCHRUN, "--standalone", "--nproc-per-node", 2, *argv, "--record",
                            env={"TORCHELASTIC_ERROR_FILE": error_file})
        program.finish()
        if error_file.exists():
            lab.keep_file(lab.name + ".error.json", error_file, lab.rows[-1][3])


recorded("rank1-valueerror-record", "rank 1 raises ValueError", *one(1, "value-error"))
recorded("both-valueerror-record", "both ranks raise ValueError at once", *both("--fail", "value-error"))
recorded("rank1-sigkill-record", "rank 1 killed by SIGKILL", *one(1, "kill"))
recorded("rank1-exit3-record", "rank 1 calls sys.exit(3)", *one(1, "exit-3"))
recorded("rank1-sigterm-record", "rank 1 killed by SIGTERM", *one(1, "term"))


def signalled(name, done, number, *more):
    @case(PREFIX + "torchrun-" + name, version, "torchrun --standalone --nproc-per-node 2: " + done)
    def _(lab):
        error_file = lab.work / "error.json"
        program = lab.start(TORCHRUN, "--standalone", "--nproc-per-node", 2, DDP, *more,
                            env={"TORCHELASTIC_ERROR_FILE": error_file})
        program.wait_for("step 3")
        program.signal(number)
        program.finish()
        if error_file.exists():
            lab.keep_file(lab.name + ".error.json", error_file, lab.rows[-1][3])


signalled("sigterm", "SIGTERM sent to torchrun", signal.SIGTERM)
signalled("sigint", "SIGINT sent to torchrun", signal.SIGINT)
signalled("sighup", "SIGHUP sent to torchrun", signal.SIGHUP)
signalled("sigusr1", "SIGUSR1 sent to torchrun", signal.SIGUSR1)
signalled("sigterm-ignored", "SIGTERM sent to torchrun, the ranks ignore SIGTERM", signal.SIGTERM,
          "--also", "ignore-term")


def ranks(lab, argv, **environment):
    """Starts ranks 0.. without torchrun."""
    port = free_port()
    return [lab.start(PYTHON, *argv, log=f"rank{rank}",
                      env={"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1",
                           "MASTER_PORT": port, **environment}) for rank in range(2)]


def bare(name, done, *argv, **environment):
    @case(PREFIX + "torch-ranks-" + name, version, "two ranks started without torchrun: " + done)
    def _(lab):
        for program in ranks(lab, argv, **environment):
            program.finish()


bare("rank1-sigkill", "rank 1 killed by SIGKILL", *one(1, "kill"))
bare("rank0-sigkill", "rank 0 killed by SIGKILL", *one(0, "kill"))
bare("rank0-exit0-early", "rank 0, which hosts the store, leaves with 0", *one(0, "leave"))


@case(PREFIX + "torch-ranks-rank1-stuck", version,
      "two ranks started without torchrun: rank 1 sleeps, collectives time out after 5 s")
def _(lab):
    first, second = ranks(lab, one(1, "sleep", "--timeout", "5"))
    first.finish()
    second.finish(1)


def joining(name, done, seconds=5, **environment):
    case(PREFIX + "torch-init-" + name, version, "one process calls init_process_group: " + done)(
        lambda lab: lab.run(PYTHON, PROGRAMS / "store.py", seconds, env={
            "RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), **environment}))


joining("no-peers", "rank 0 of 2, nobody else comes, 5 s")
joining("wrong-port", "rank 1, nobody listens on MASTER_PORT, 5 s", RANK=1)
joining("unknown-host", "rank 1, MASTER_ADDR has no address, 5 s", RANK=1, MASTER_ADDR="rank0.invalid")
joining("bad-port", "MASTER_PORT is not a number", MASTER_PORT="master")


@case(PREFIX + "torch-init-no-environment", version, "one process calls init_process_group without any variables")
def _(lab):
    lab.run(PYTHON, PROGRAMS / "store.py", 5)


def port_taken(name, done, start):
    @case(PREFIX + name, version, done)
    def _(lab):
        with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
            start(lab, listener.getsockname()[1])


port_taken("torch-init-port-taken", "rank 0 calls init_process_group, MASTER_PORT is taken by another program",
           lambda lab, port: lab.run(PYTHON, PROGRAMS / "store.py", 5, env={
               "RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}))
port_taken("torchrun-static-port-taken", "torchrun --nnodes 1 --master-port PORT: PORT is taken by another program",
           lambda lab, port: lab.run(TORCHRUN, "--nnodes", 1, "--nproc-per-node", 2, "--master-addr", "127.0.0.1",
                                     "--master-port", port, DDP))

C10D = ("--nproc-per-node", 1, "--rdzv-backend", "c10d", "--rdzv-id", "job7")

case(PREFIX + "torchrun-rendezvous-timeout", version, "torchrun --nnodes 2, c10d, the other node never comes, 5 s")(
    lambda lab: lab.run(TORCHRUN, "--nnodes", 2, *C10D, "--rdzv-endpoint", f"127.0.0.1:{free_port()}",
                        "--rdzv-conf", "join_timeout=5", DDP))
case(PREFIX + "torchrun-rendezvous-refused", version,
     "torchrun --nnodes 2, c10d, is_host=false, nobody listens on the endpoint, 5 s")(
    lambda lab: lab.run(TORCHRUN, "--nnodes", 2, *C10D, "--rdzv-endpoint", f"127.0.0.1:{free_port()}",
                        "--rdzv-conf", "is_host=false,read_timeout=5", DDP))
case(PREFIX + "torchrun-rendezvous-unknown-host", version,
     "torchrun --nnodes 2, c10d, the endpoint's host has no address, 5 s")(
    lambda lab: lab.run(TORCHRUN, "--nnodes", 2, *C10D, "--rdzv-endpoint", "rank0.invalid:29400",
                        "--rdzv-conf", "read_timeout=5", DDP))
case(PREFIX + "torchrun-static-no-master", version,
     "torchrun --nnodes 2 --node-rank 1, static, nobody listens on the master port, 5 s")(
    lambda lab: lab.run(TORCHRUN, "--nnodes", 2, "--node-rank", 1, "--nproc-per-node", 1, "--master-addr", "127.0.0.1",
                        "--master-port", free_port(), "--rdzv-conf", "timeout=5", DDP, "--timeout", 5))


def two_nodes(name, done, number, victim, ranks_too=False):
    """The first agent hosts the rendezvous store."""
    @case(PREFIX + "torchrun-2nodes-" + name, version, "two torchrun agents, c10d, gloo: " + done)
    def _(lab):
        port = free_port()
        agents = [lab.start(TORCHRUN, "--nnodes", 2, *C10D, "--rdzv-endpoint", f"127.0.0.1:{port}", "--local-addr",
                            "127.0.0.1", "--rdzv-conf", f"is_host={host}", DDP, log=log)
                  for host, log in (("true", "node0"), ("false", "node1"))]
        agents[0].wait_for("step 4")
        if ranks_too:
            agents[victim].signal_children(number)
        agents[victim].signal(number)
        agents[victim].finish(60)
        agents[1 - victim].finish(60)


two_nodes("host-sigterm", "SIGTERM to the one that hosts the store", signal.SIGTERM, 0)
two_nodes("host-sigkill", "SIGKILL to the one that hosts the store and to its rank", signal.SIGKILL, 0, True)
two_nodes("guest-sigkill", "SIGKILL to the one that does not host the store and to its rank", signal.SIGKILL, 1, True)
two_nodes("agent-sigkill", "SIGKILL to the one that does not host the store, its rank lives on", signal.SIGKILL, 1)

for how, done in (
    ("killed", "a worker killed by SIGKILL"), ("segv", "a worker reads address 0"),
    ("exit", "a worker calls os._exit(5)"), ("raise", "the data set raises FileNotFoundError"),
    ("slow", "a worker does not answer within the loader's timeout of 3 s"),
):
    case(PREFIX + "dataloader-" + how, version, "DataLoader with 2 workers: " + done)(
        lambda lab, how=how: lab.run(PYTHON, PROGRAMS / "loader.py", how))
case(PREFIX + "dataloader-shm", version, "DataLoader with 2 workers: /dev/shm has 1 MiB")(
    lambda lab: lab.on_small_disk("1m", PYTHON, PROGRAMS / "loader.py", "shm", where="/dev/shm"))

for how, done in (
    ("mismatch", "load_state_dict of another width"),
    ("missing_keys", "load_state_dict with missing and unexpected keys"),
    ("truncated", "torch.load of a file cut in half"), ("empty", "torch.load of an empty file"),
    ("garbage", "torch.load of random bytes"),
    ("old_format_truncated", "torch.load of a file cut in half, the format before zip"),
    ("old_pickle_truncated", "torch.load of a file cut in half, the format before zip, weights_only=False"),
    ("weights_only", "torch.load of a whole module with the default weights_only=True"),
    ("missing", "torch.load of a file that is not there"),
    ("safetensors_truncated", "safetensors file cut in half"),
    ("safetensors_header", "safetensors file of random bytes"),
    ("safetensors_short", "safetensors file of 2 bytes"), ("save_no_folder", "torch.save into a missing folder"),
    ("dcp_incomplete", "torch.distributed.checkpoint load from an empty folder"),
    ("dcp_missing_key", "torch.distributed.checkpoint load of a key that is not there"),
    ("dcp_size", "torch.distributed.checkpoint load of another size"),
    ("dcp_truncated", "torch.distributed.checkpoint load of a file cut in half"),
):
    case(PREFIX + "checkpoint-" + how.replace("_", "-"), version, done)(
        lambda lab, how=how: lab.run(PYTHON, PROGRAMS / "checkpoint.py", how))
for how, done in (
    ("save", "torch.save to a full disk"), ("dcp_save", "torch.distributed.checkpoint save to a full disk"),
    ("safetensors_save", "safetensors save to a full disk"),
):
    case(PREFIX + "checkpoint-" + how.replace("_", "-") + "-full", version, done)(
        lambda lab, how=how: lab.on_small_disk("64k", PYTHON, PROGRAMS / "checkpoint.py", how))
