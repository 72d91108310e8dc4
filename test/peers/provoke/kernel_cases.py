"""What the kernel writes when it kills: cgroup limits and crashes.

Needs the memory and pids controllers of cgroup v1.
"""

import os
import pathlib
import subprocess
import time

from lab import PROGRAMS, case, where

PYTHON = "/usr/bin/python3"
KERNEL = "Linux " + os.uname().release.partition("-")[0]
V1 = pathlib.Path("/sys/fs/cgroup/memory")


class KernelLog:
    """The records of /dev/kmsg from now on."""

    def __init__(self):
        self.file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.file, 0, os.SEEK_END)

    def read(self):
        records = b""
        while True:
            try:
                records += os.read(self.file, 8192)
            except BlockingIOError:
                return records


class Group:
    """A control group with limits, removed at the end."""

    def __init__(self, parent, limits):
        self.path = parent / f"provoke-{os.getpid()}"
        self.path.mkdir()
        for name, value in limits.items():
            (self.path / name).write_text(value)

    def read(self, name):
        return f"{name}:\n{(self.path / name).read_text()}".encode()

    def run(self, lab, *argv, log=None):
        enter = 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"'
        lab.start("sh", "-c", enter, "sh", self.path, *argv, log=log).finish()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _ in range(100):
            try:
                return self.path.rmdir()
            except OSError:
                time.sleep(0.05)


@case("kernel-memory-v1", KERNEL, "a program beyond memory.limit_in_bytes of a cgroup v1 of 64 MiB")
def _(lab):
    log = KernelLog()
    with Group(V1, {"memory.limit_in_bytes": str(64 << 20)}) as group:
        before = group.read("memory.oom_control") + group.read("memory.failcnt")
        group.run(lab, PYTHON, PROGRAMS / "plain.py", "allocate", log="program")
        code = lab.rows[-1][3]
        lab.keep(lab.name + ".before", before, code)
        lab.keep(lab.name + ".after", group.read("memory.oom_control") + group.read("memory.failcnt"), code)
    lab.keep(lab.name + ".kmsg", log.read(), code)


@case("kernel-memory-v1-child", KERNEL, "the same, the program being the child of a shell that goes on")
def _(lab):
    log = KernelLog()
    with Group(V1, {"memory.limit_in_bytes": str(64 << 20)}) as group:
        group.run(lab, "bash", "-c", f"{PYTHON} {PROGRAMS / 'plain.py'} allocate; exit $?", log="program")
    lab.keep(lab.name + ".kmsg", log.read(), lab.rows[-1][3])


@case("kernel-memory-v1-torchrun", KERNEL + ", torch", "torchrun in a cgroup v1 of 2 GiB, rank 1 allocates without end")
def _(lab):
    log = KernelLog()
    with Group(V1, {"memory.limit_in_bytes": str(2 << 30)}) as group:
        group.run(lab, where("torch") + "/bin/torchrun", "--standalone", "--nproc-per-node", 2, PROGRAMS / "ddp.py",
                  "--rank", 1, "--fail", "allocate", log="program")
        lab.keep(lab.name + ".after", group.read("memory.oom_control"), lab.rows[-1][3])
    lab.keep(lab.name + ".kmsg", log.read(), lab.rows[-1][3])


@case("kernel-pids-v1", KERNEL, "fork beyond pids.max of a cgroup v1")
def _(lab):
    log = KernelLog()
    with Group(V1.parent / "pids", {"pids.max": "1"}) as group:
        group.run(lab, PYTHON, PROGRAMS / "plain.py", "child_failed", log="program")
        lab.keep(lab.name + ".after", group.read("pids.events"), lab.rows[-1][3])
    lab.keep(lab.name + ".kmsg", log.read(), lab.rows[-1][3])


@case("kernel-segv-faulthandler", KERNEL, "a program with faulthandler reads address 0: the kernel writes nothing")
def _(lab):
    log = KernelLog()
    lab.start(PYTHON, PROGRAMS / "plain.py", "fault_segv", log="program").finish()
    lab.keep(lab.name + ".kmsg", log.read(), lab.rows[-1][3])


@case("kernel-segv", KERNEL, "a program reads address 0")
def _(lab):
    log = KernelLog()
    lab.start(PYTHON, PROGRAMS / "plain.py", "segv", log="program").finish()
    lab.keep(lab.name + ".kmsg", log.read(), lab.rows[-1][3])


@case("kernel-trap", KERNEL, "a program divides by 0 and one runs an undefined instruction")
def _(lab):
    log = KernelLog()
    for name, body in (("divide", "volatile int zero = 0; return 7 / zero;"), ("undefined", 'asm("ud2");')):
        source = lab.work / f"{name}.c"
        source.write_text(f"int main(void) {{ {body} }}\n")
        subprocess.run(["gcc", "-o", lab.work / name, source], check=True)
        lab.start(lab.work / name, log=name).finish()
    lab.keep(lab.name + ".kmsg", log.read(), lab.rows[-1][3])
