"""Starts programs that are going to fail, and keeps what they wrote to standard error and how they ended."""

import csv
import fnmatch
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
INSTALL = HERE.parent / "install"
LIMIT = 30 << 10  # bytes a kept log may have

cases = []


def case(name, program, done):
    """Registers a function that provokes one failure; it gets a Lab and ends the programs it started."""
    def add(function):
        cases.append((name, program, done, function))
        return function
    return add


def where(piece):
    return subprocess.run([INSTALL, "--where", piece], check=True, capture_output=True, text=True).stdout.strip()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def ending(code):
    return signal.Signals(-code).name if code < 0 else str(code)


class Program:
    """One started program. Its standard output is only waited on; its standard error is what is kept."""

    def __init__(self, lab, log, argv, env, cwd):
        self.lab, self.log = lab, log
        self.errors = lab.scratch / (log + ".stderr")
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [str(a) for a in argv], env=lab.env | {k: str(v) for k, v in (env or {}).items()},
                cwd=cwd or lab.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))

    def wait_for(self, text):
        for line in self.process.stdout:
            if text.encode() in line:
                return
        raise RuntimeError(f"{self.log}: ended without saying {text!r}; see {self.errors}")

    def signal(self, number):
        self.process.send_signal(number)

    def signal_children(self, number):
        for tasks in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            for child in tasks.read_text().split():
                os.kill(int(child), number)

    def finish(self, seconds=240):
        """Waits for the end (a program that does not end by itself is killed and says so) and keeps the log."""
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        try:
            code = ending(self.process.wait(seconds))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = f"running after {seconds} s"
        self.lab.keep(self.log, self.errors.read_bytes(), code)


class Lab:
    """One case while it runs: a working directory of its own and a small fixed environment."""

    def __init__(self, out, name, program, done):
        self.out, self.name, self.program, self.done = out, name, program, done
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="provoke."))
        self.work = self.scratch / "work"
        self.work.mkdir()
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                    "HOME": str(self.scratch), "PYTHONUNBUFFERED": "1", "PROVOKED_IN": str(self.scratch)}
        self.rows = []

    def start(self, *argv, env=None, cwd=None, log=None):
        return Program(self, f"{self.name}.{log}.log" if log else f"{self.name}.log", argv, env, cwd)

    def run(self, *argv, env=None, cwd=None, seconds=240):
        self.start(*argv, env=env, cwd=cwd).finish(seconds)

    def on_small_disk(self, size, *argv, where=None, **more):
        """Runs a program with a tmpfs of that size mounted, for it alone, over its working directory or `where`."""
        mount = 'mount -t tmpfs -o size="$1" tmpfs "$2" && cd "$3" && shift 3 && exec "$@"'
        self.run("unshare", "--mount", "sh", "-c", mount, "sh", size, where or self.work, self.work, *argv, **more)

    def scrub(self, text):
        """Takes the paths of this machine out."""
        text = text.replace(os.uname().release.encode(), os.uname().release.partition("-")[0].encode())
        venvs = [where("torch-2.6"), where("torch"), where("tensorflow"), os.environ.get("PROVOKE_JAX", "/none")]
        for old, new in ((PROGRAMS, b"/workspace"), (self.work, b"/run-dir"), (self.scratch, b"/home/user"),
                         *((venv, b"/opt/venv") for venv in venvs)):
            text = text.replace(os.path.realpath(old).encode(), new).replace(str(old).encode(), new)
        return text

    def keep(self, log, text, code):
        text = self.scrub(text)
        if len(text) > LIMIT:
            raise RuntimeError(f"{log}: {len(text)} bytes; a kept log has at most {LIMIT}")
        (self.out / log).write_bytes(text)
        self.rows.append((log, self.program, self.done, code))

    def keep_file(self, log, path, code):
        self.keep(log, pathlib.Path(path).read_bytes(), code)

    def kill_all(self):
        """Kills what the case left behind. Ranks leave torchrun's session, so their environment tells them."""
        mark = f"PROVOKED_IN={self.scratch}".encode()
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)
            except OSError:
                pass

    def close(self):
        self.kill_all()
        shutil.rmtree(self.scratch, ignore_errors=True)


HEADER = ("file", "program", "done", "exit")


def read_index(out):
    path = out / "INDEX.tsv"
    if not path.exists():
        return {}
    with open(path, newline="") as file:
        return {row[0]: tuple(row) for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
                if tuple(row) != HEADER}


def write_index(out, rows):
    with open(out / "INDEX.tsv", "w") as file:
        for row in (HEADER, *(rows[name] for name in sorted(rows))):
            file.write("\t".join(row) + "\n")


def run_cases(out, patterns):
    """Runs the cases whose name matches one of the patterns. Returns how many could not be provoked."""
    out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, program, done, function in cases:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            continue
        lab = Lab(out, name, program() if callable(program) else program, done)
        try:
            function(lab)
        except Exception as error:
            failed += 1
            print(f"{name}: FAILED: {error}", flush=True)
            lab.kill_all()
            continue
        rows = {file: row for file, row in read_index(out).items()
                if file != f"{name}.log" and not file.startswith(f"{name}.")}
        for row in lab.rows:
            rows[row[0]] = row
            print(*row, sep="\t", flush=True)
        write_index(out, rows)
        lab.close()
    return failed
