"""Failures of plain Python programs, of the C library under them, and of shells."""

import subprocess

from lab import PROGRAMS, case

PYTHON = "/usr/bin/python3"
PLAIN = PROGRAMS / "plain.py"
VERSION = subprocess.run([PYTHON, "--version"], capture_output=True, text=True).stdout.strip()
LIBC = subprocess.run(["getconf", "GNU_LIBC_VERSION"], capture_output=True, text=True).stdout.strip()
BASH = "bash " + subprocess.run(["bash", "-c", "echo $BASH_VERSION"], capture_output=True, text=True).stdout.strip()


def add(program, prefix, table):
    for function, done in table:
        case(prefix + function.replace("_", "-"), program, done)(
            lambda lab, function=function: lab.run(PYTHON, PLAIN, function))


add(VERSION, "python-", (
    ("name_error", "NameError"), ("type_error", "TypeError"), ("attribute_error", "AttributeError"),
    ("key_error", "KeyError"), ("value_error", "ValueError"), ("assertion", "AssertionError"),
    ("no_module", "import of a module that is not there"), ("no_name", "import of a name that is not there"),
    ("syntax", "SyntaxError in an imported module"), ("indentation", "IndentationError in an imported module"),
    ("not_found", "open of a file that is not there"), ("is_directory", "open of a directory for writing"),
    ("permission", "open of a file of root as nobody"), ("file_size_limit", "write beyond RLIMIT_FSIZE"),
    ("open_files_limit", "open beyond RLIMIT_NOFILE"), ("threads_limit", "a thread beyond RLIMIT_NPROC"),
    ("processes_limit", "fork beyond RLIMIT_NPROC"), ("memory", "16 GiB asked for under an RLIMIT_AS of 1 GiB"),
    ("recursion", "endless recursion"), ("interrupt", "SIGINT"), ("broken_pipe", "write to a pipe nobody reads"),
    ("refused", "connect to a port nobody listens on"), ("connection_timeout", "a socket's timeout"),
    ("reset", "a connection reset by the peer"), ("address_in_use", "bind of a port that is taken"),
    ("unknown_host", "urlopen of a host without an address"), ("child_failed", "subprocess exits 7"),
    ("child_killed", "subprocess killed"), ("during_handling", "an error while another is handled"),
    ("direct_cause", "an error raised from another"), ("group", "an ExceptionGroup"),
    ("in_thread", "an error in a thread; the program itself goes on and exits 0"),
    ("logged_then_fatal", "a traceback that was handled and logged, much later another that was not"),
    ("logged_not_fatal", "a traceback that was handled and logged, then a good end"),
    ("swallowed_exit", "a logged traceback, then os._exit(1)"), ("system_exit_text", "sys.exit with a text"),
    ("prefixed", "a traceback with a tag before each line"),
    ("fault_segv", "faulthandler, read of address 0"),
    ("fault_segv_threads", "faulthandler, read of address 0, two threads"), ("fault_abort", "faulthandler, abort()"),
    ("fault_bus", "faulthandler, SIGBUS"), ("fault_fpe", "faulthandler, SIGFPE"), ("fault_ill", "faulthandler, SIGILL"),
    ("fault_term_dump", "faulthandler.register dumps the stack, then SIGTERM"),
    ("watchdog_dump", "faulthandler.dump_traceback_later with exit=True"),
))
add(f"{VERSION}, {LIBC}", "glibc-", (
    ("free_invalid_pointer", "free of a pointer into a block"), ("free_invalid_size", "free of a block of bad size"),
    ("double_free", "a small block freed twice"), ("double_free_large", "a large block freed twice"),
    ("malloc_top_size", "malloc after the size of the heap's rest was overwritten"),
    ("malloc_unsorted", "malloc after a free block's size was overwritten"),
    ("corrupted_size", "free after a free neighbour's size was overwritten"),
))

case("python-no-script", VERSION, "python3 of a script that is not there")(
    lambda lab: lab.run(PYTHON, "/workspace/not_there.py"))
for function, done in (("write", "write to a full disk"), ("write_raw", "os.write to a full disk")):
    case("python-full-disk-" + function.replace("_", "-"), VERSION, done)(
        lambda lab, function=function: lab.on_small_disk("1m", PYTHON, PLAIN, function))
case("python-read-only", VERSION, "open for writing on a read-only file system")(
    lambda lab: lab.run("unshare", "--mount", "sh", "-c",
                        'mount -t tmpfs -o ro tmpfs "$1" && cd "$1" && exec /usr/bin/python3 "$2" write', "sh",
                        lab.work, PLAIN))

for name, done, script in (
    ("no-command", "a command that is not there", "exec train-model-not-there"),
    ("no-command-child", "a command that is not there, then the shell goes on", "train-model-not-there; exit $?"),
    ("not-executable", "a file without the x bit", ": >train.sh; exec ./train.sh"),
    ("child-killed", "a child killed by SIGKILL", "sh -c 'kill -9 $$'; exit $?"),
    ("child-segv", "a child killed by SIGSEGV", "sh -c 'kill -SEGV $$'; exit $?"),
    ("set-u", "an unset variable under set -u", "set -u; echo $MASTER_ADDR_NOT_SET"),
    ("syntax", "a syntax error", "if true; then"),
):
    case("bash-" + name, BASH, done)(lambda lab, script=script: lab.run("bash", "-c", script))


GXX = "g++ " + subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()


def cxx(name, done, body):
    @case("cxx-" + name, GXX, done)
    def _(lab):
        includes = "".join(f"#include <{header}>\n" for header in ("cassert", "cstring", "new", "stdexcept"))
        (lab.work / "train.cc").write_text(f"{includes}int main(int argc, char **) {{ {body} }}\n")
        program = lab.work / "train"
        subprocess.run(["g++", "-w", "-fstack-protector-all", "-o", program, lab.work / "train.cc"], check=True)
        lab.run(program, seconds=20)


cxx("terminate", "an uncaught std::runtime_error", 'throw std::runtime_error("bad shard");')
cxx("bad-alloc", "an uncaught std::bad_alloc", "operator new(1ull << 62);")
cxx("rethrow", "throw without an exception", "throw;")
cxx("assert", "assert(1 == 2)", "assert(1 == 2);")
cxx("stack-smash", "a write beyond an array on the stack", "char b[8]; memset(b, 1, argc * 64); return b[0];")
