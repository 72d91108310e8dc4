"""Writes the golden files beside it: what torch itself makes of command lines, templates and failures.

    python generate.py        with a Python that has torch 2.15; the Go tests then run without it
"""

import contextlib
import io
import json
import os
import pathlib
import socket
import string
import tempfile
import time

os.environ["TZ"] = "UTC"
time.tzset()

from torch.distributed.elastic.multiprocessing import errors  # noqa: E402
from torch.distributed.run import get_args_parser  # noqa: E402

HERE = pathlib.Path(__file__).parent

# Each is a command line, then the environment.
COMMANDS = [
    ("train.py", {}),
    ("train.py --lr 0.1 --nnodes 3", {}),
    ("--nnodes=2:4 --nproc-per-node=gpu train.py", {}),
    ("--nnodes 2:4 --nproc_per_node 8 train.py a b", {}),
    ("--rdzv-b c10d --rdzv_e host:1 train.py", {}),
    ("--stand train.py", {}),
    ("--standalone=1 train.py", {}),
    ("--n 3 train.py", {}),
    ("--rdzv-conf a=1 --rdzv_conf b=2 train.py", {}),
    ("--rdzv-conf=a=1,b=2 train.py", {}),
    ("-r3 -t 0:1,1:3 train.py", {}),
    ("-r=3 train.py", {}),
    ("-r 3 train.py", {}),
    ("-r train.py", {}),
    ("-r", {}),
    ("-r -t train.py", {}),
    ("-r -1 train.py", {}),
    ("-m pkg.mod --x", {}),
    ("-mr3 pkg.mod", {}),
    ("-mr 3 pkg.mod", {}),
    ("-mx pkg.mod", {}),
    ("-m=1 pkg.mod", {}),
    ("-m= pkg.mod", {}),
    ("-mm pkg.mod", {}),
    ("-r-t train.py", {}),
    ("--role=-x train.py", {}),
    ("--role -x train.py", {}),
    ("--role --tee train.py", {}),
    ("--node-rank -1 train.py", {}),
    ("--node-rank -1.5 train.py", {}),
    ("--node-rank=-1 train.py", {}),
    ("--role -.5 train.py", {}),
    ("--role -5. train.py", {}),
    ("--role - train.py", {}),
    (["--role", "-a b", "train.py"], {}),
    (["--role", "--a b", "train.py"], {}),
    (["--role", "-r b", "train.py"], {}),
    (["--role", "--tee=a b", "train.py"], {}),
    (["--role", "", "train.py"], {}),
    (["--role=", "train.py"], {}),
    ([""], {}),
    (["-"], {}),
    (["-3"], {}),
    (["-a b"], {}),
    ("-- train.py --x", {}),
    ("--standalone -- train.py -- x", {}),
    ("train.py -- x", {}),
    ("train.py -- -- x", {}),
    ("train.py x -- y", {}),
    ("-- -- x", {}),
    ("-- -3 x", {}),
    ("--", {}),
    ("", {}),
    ("--role -- train.py", {}),
    ("--max-restarts x train.py", {}),
    ("--max-restarts x --max-restarts 3 train.py", {}),
    (["--max-restarts", " 1_0 ", "train.py"], {}),
    ("--max-restarts 1__0 train.py", {}),
    ("--max-restarts _1 train.py", {}),
    ("--max-restarts 1_ train.py", {}),
    ("--max-restarts +007 train.py", {}),
    ("--max-restarts 1.0 train.py", {}),
    ("--max-restarts 0x10 train.py", {}),
    ("--monitor-interval 1e-1 train.py", {}),
    ("--monitor-interval 1_0.5 train.py", {}),
    ("--monitor-interval 0x1p3 train.py", {}),
    ("--monitor-interval .5 train.py", {}),
    ("--monitor-interval 5. train.py", {}),
    ("--monitor-interval fast train.py", {}),
    ("--start-method fork train.py", {}),
    ("--start-method thread train.py", {}),
    ("--numa-binding node train.py", {}),
    ("--numa-binding none train.py", {}),
    ("--logs-specs x train.py", {}),
    ("--duplicate-stdout-filters a,,b,c train.py", {}),
    ("--duplicate-stderr-filters a,,,b, train.py", {}),
    ("--duplicate-stderr-filters= train.py", {}),
    ("--log-line-prefix-template ${hostname}:${rank} train.py", {}),
    ("--shutdown-timeout 5 --virtual-local-rank --signals-to-handle SIGUSR1 train.py", {}),
    ("--no-such train.py", {}),
    ("--no-such=1 train.py", {}),
    ("-x train.py", {}),
    ("--no-python --run-path train.py", {}),
    ("--master-port 1 --master_addr ::1 --local-addr h train.py", {}),
    ("--redirects 3 --tee 3 train.py", {}),
    ("train.py", {"PET_NNODES": "3", "PET_NPROC_PER_NODE": "auto", "PET_RDZV_ENDPOINT": "h:1"}),
    ("--nnodes 2 train.py", {"PET_NNODES": "3"}),
    ("train.py", {"PET_STANDALONE": "1", "PET_MODULE": "0"}),
    ("train.py", {"PET_STANDALONE": " 2 "}),
    ("train.py", {"PET_STANDALONE": "-1"}),
    ("train.py", {"PET_STANDALONE": "true"}),
    ("train.py", {"PET_STANDALONE": ""}),
    ("--standalone train.py", {"PET_STANDALONE": "true"}),
    ("--standalone train.py", {"PET_STANDALONE": "0"}),
    ("train.py", {"PET_MAX_RESTARTS": "x"}),
    ("--max-restarts 1 train.py", {"PET_MAX_RESTARTS": "x"}),
    ("train.py", {"PET_MAX_RESTARTS": ""}),
    ("train.py", {"PET_MASTER_PORT": "29501", "PET_MASTER_ADDR": "m", "PET_NODE_RANK": "1"}),
    ("train.py", {"PET_MASTER_PORT": ""}),
    ("train.py", {"PET_LOG_DIR": "", "PET_LOCAL_ADDR": "", "PET_RDZV_ID": ""}),
    ("train.py", {"PET_DUPLICATE_STDOUT_FILTERS": ""}),
    ("train.py", {"PET_DUPLICATE_STDOUT_FILTERS": "a,b"}),
    ("train.py", {"PET_NUMA_BINDING": "node", "PET_LOGS_SPECS": "x"}),
    ("train.py", {"PET_R": "3", "PET_REDIRECTS": "1", "PET_TEE": "2"}),
    ("--help", {}),
    ("--he", {}),
    ("-h train.py", {}),
    ("-mh", {}),
    ("--nnodes 1 -h", {}),
    ("--no-such -h", {}),
    ("train.py -h", {}),
    ("--max-restarts x -h", {}),
]

TEMPLATES = [
    "", "plain", "$", "$$", "$$$", "a$$b", "$local_rank", "${local_rank}", "$local_ranker", "${local_ranker}", "$local_rankX",
    "$local_rank.", "$local_rank$local_rank", "$$local_rank", "$$$local_rank", "${local_rank", "$ {local_rank}",
    "${ local_rank}", "${local_rank }", "$LOCAL_RANK", "${Local_Rank}", "$local_ran\u212a", "$local_rank\u017f", "$\u00e9",
    "$1", "${1}", "${}", "$_", "${local_rank}${x}", "{$local_rank}", "$-$local_rank", "100$", "${${local_rank}}",
    "/logs/$local_rank/out-${local_rank}.txt", "$local-rank", "$\nlocal_rank",
]

REMOTE = "Traceback (most recent call last):\n  File \"train.py\", line 2, in main\nValueError: boom\n"


def failure(local_rank, pid, exitcode, at, content=None):
    return {"local_rank": local_rank, "pid": pid, "exitcode": exitcode, "at": at, "content": content}


def recorded(at, **extra):
    return json.dumps({"message": {"message": "ValueError: boom", "extraInfo": {"timestamp": str(at), **extra}}})


REPORTS = [
    ("train.py", {1: failure(1, 20, 3, 1000)}),
    ("train.py", {1: failure(1, 20, -9, 1000)}),
    ("x", {1: failure(1, 2, -35, 1000)}),
    ("x", {1: failure(1, 2, -64, 1000), 0: failure(0, 3, -34, 1000)}),
    ("a-script-whose-name-is-so-long-that-the-border-would-be-wider-than-sixty.py", {1: failure(1, 20, 3, 1000)}),
    ("tr\u00e4ning-\u8a13\u7df4-with-a-name-wider-than-the-fields.py", {1: failure(1, 2, -11, 1000)}),
    ("train.py", {1: failure(1, 20, 3, 1000), 0: failure(0, 21, 4, 999), 2: failure(2, 22, -15, 1000)}),
    ("train.py", {9: failure(1, 20, 1, 1000, recorded(998, py_callstack=REMOTE)), 8: failure(0, 21, -6, 999)}),
    ("train.py", {9: failure(1, 20, 1, 1000, recorded(998))}),
    ("train.py", {9: failure(1, 20, 1, 1000, json.dumps({"message": "out of memory", "timestamp": 997}))}),
    ("train.py", {9: failure(1, 20, 1, 1000, json.dumps({"message": "", "timestamp": 997}))}),
    ("train.py", {9: failure(1, 20, -6, 1000, json.dumps({"message": "aborted", "timestamp": 997}))}),
]


def parse(args, env):
    for name in [n for n in os.environ if n.startswith("PET_")]:
        del os.environ[name]
    os.environ.update(env)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return vars(get_args_parser().parse_args(args))
        except SystemExit as e:
            return "help" if e.code == 0 else "error"
        except ValueError:
            return "error"


def changed(got, defaults):
    if isinstance(got, str):
        return got
    return {k: v for k, v in got.items() if v != defaults[k] or k.startswith("training_script")}


def report(title, failures):
    socket.getfqdn = lambda *_: "node-1"
    built = {}
    with tempfile.TemporaryDirectory() as folder:
        for rank, f in failures.items():
            path = f"{folder}/{rank}.json"
            if f["content"] is not None:
                pathlib.Path(path).write_text(f["content"])
            time.time = lambda at=f["at"]: at
            built[rank] = errors.ProcessFailure(f["local_rank"], f["pid"], f["exitcode"], path)
            if f["content"] is not None:
                built[rank].error_file = f"/logs/{rank}.json"
    return str(errors.ChildFailedError(title, built))


def write(name, items):
    lines = ",\n".join(json.dumps(item, ensure_ascii=True) for item in items)
    (HERE / name).write_text(f"[\n{lines}\n]\n")


def main():
    defaults = parse(["train.py"], {})
    commands = [(c.split() if isinstance(c, str) else c, env) for c, env in COMMANDS]
    write("commands.json", [{"args": ["train.py"], "env": {}, "want": defaults}] + [
        {"args": a, "env": e, "want": changed(parse(a, e), defaults)} for a, e in commands])
    write("templates.json", [
        {"in": t, "want": string.Template(t).safe_substitute(local_rank="3")} for t in TEMPLATES])
    write("reports.json", [
        {"title": t, "failures": [{"rank": r, **f} for r, f in fs.items()], "want": report(t, fs)}
        for t, fs in REPORTS])


main()
