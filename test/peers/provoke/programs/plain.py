"""Plain Python programs that fail, one function each; the first argument names it."""

import ctypes
import faulthandler
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request


def name_error():
    print(learning_rate)


def type_error():
    len(3)


def attribute_error():
    os.not_there()


def key_error():
    {}["hidden_size"]


def value_error():
    int("ten")


def assertion():
    assert 7 % 2 == 0, "batch size must divide by the number of ranks"


def no_module():
    import deepspeed_that_is_not_here


def no_name():
    from os import not_there


def syntax():
    sys.path.insert(0, os.getcwd())
    with open("broken.py", "w") as file:
        file.write("def train(:\n    pass\n")
    import broken


def indentation():
    sys.path.insert(0, os.getcwd())
    with open("broken.py", "w") as file:
        file.write("def train():\npass\n")
    import broken


def not_found():
    open("/data/train/shard-00000.tar")


def is_directory():
    open("/tmp", "w")


def permission():
    os.setgid(65534)
    os.setuid(65534)
    open("/etc/shadow")


def write():
    with open("out", "wb") as file:
        for _ in range(4096):
            file.write(b"x" * 65536)


def write_raw():
    file = os.open("out", os.O_WRONLY | os.O_CREAT)
    while True:
        os.write(file, b"x" * 65536)


def file_size_limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    write_raw()


def open_files_limit():
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
    keep = []
    while True:
        keep.append(open("/dev/null"))


def threads_limit():
    os.setgid(65533)
    os.setuid(65533)
    resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
    for _ in range(4):
        threading.Thread(target=time.sleep, args=(0.5,), daemon=True).start()


def processes_limit():
    os.setgid(65533)
    os.setuid(65533)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    os.fork()


def memory():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    bytearray(1 << 34)


def allocate():
    hoard = []
    while True:
        hoard.append(b"x" * (1 << 20))


def recursion():
    recursion()


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)


def broken_pipe():
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    read, write = os.pipe()
    os.close(read)
    os.write(write, b"x")


def refused():
    socket.create_connection(("127.0.0.1", 9))


def connection_timeout():
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname(), timeout=0.2)
    client.recv(1)


def reset():
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    server.close()
    client.recv(1)


def address_in_use():
    listener = socket.create_server(("127.0.0.1", 0))
    socket.create_server(listener.getsockname())


def unknown_host():
    urllib.request.urlopen("http://object-store.invalid/bucket")


def child_failed():
    subprocess.run(["sh", "-c", "exit 7"], check=True)


def child_killed():
    subprocess.run(["sh", "-c", "kill -9 $$"], check=True)


def during_handling():
    try:
        os.stat("/checkpoints/latest")
    except FileNotFoundError:
        {}["fallback"]


def direct_cause():
    try:
        int("ten")
    except ValueError as error:
        raise RuntimeError("bad configuration") from error


def group():
    errors = []
    for text in ("ten", "11"):
        try:
            [][int(text)]
        except Exception as error:
            errors.append(error)
    raise ExceptionGroup("two shards failed", errors)


def in_thread():
    thread = threading.Thread(target=key_error)
    thread.start()
    thread.join()


def logged_then_fatal():
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    try:
        open("/cache/tokenizer.json")
    except OSError:
        logging.exception("no cached tokenizer, building it")
    for step in range(200):
        logging.info("step %d loss %.4f", step, 1 / (step + 1))
    [][3]


def logged_not_fatal():
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    try:
        open("/cache/tokenizer.json")
    except OSError:
        logging.exception("no cached tokenizer, building it")
    logging.info("done")


def swallowed_exit():
    try:
        key_error()
    except KeyError:
        logging.exception("training failed")
        os._exit(1)


def system_exit_text():
    sys.exit("config.yaml: no learning rate given")


def prefixed():
    """As launchers do that put a tag before each line of a rank."""
    try:
        key_error()
    except KeyError:
        import traceback
        for line in traceback.format_exc().splitlines():
            print("[rank1]:", line, file=sys.stderr)
        sys.exit(1)


def fault(number):
    faulthandler.enable()
    os.kill(os.getpid(), number)
    time.sleep(60)


def segv():
    ctypes.string_at(0)


def fault_segv():
    faulthandler.enable()
    ctypes.string_at(0)


def fault_segv_threads():
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    fault_segv()


def fault_abort():
    faulthandler.enable()
    os.abort()


def fault_bus():
    fault(signal.SIGBUS)


def fault_fpe():
    fault(signal.SIGFPE)


def fault_ill():
    fault(signal.SIGILL)


def fault_term_dump():
    """As programs do that register a stack dump for the signal that stops them."""
    faulthandler.register(signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def watchdog_dump():
    faulthandler.dump_traceback_later(0.2, exit=True)
    time.sleep(60)


libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = libc.calloc.argtypes = [ctypes.c_size_t]
libc.sbrk.restype = ctypes.c_void_p
libc.sbrk.argtypes = [ctypes.c_ssize_t]
libc.free.argtypes = libc.malloc_usable_size.argtypes = [ctypes.c_void_p]


def free_invalid_pointer():
    libc.free(libc.malloc(64) + 8)


def free_invalid_size():
    block = libc.malloc(64)
    ctypes.c_size_t.from_address(block - 8).value = 0x10
    libc.free(block)


def double_free():
    block = libc.malloc(64)
    libc.free(block)
    libc.free(block)


def double_free_large():
    blocks = [libc.malloc(4096) for _ in range(3)]
    libc.free(blocks[1])
    libc.free(blocks[1])


def malloc_top_size():
    """The size of what is left of the heap stands right behind the block that was cut from it last."""
    while True:
        block = libc.malloc(100000)
        size = ctypes.c_size_t.from_address(block + libc.malloc_usable_size(block))
        if size.value + block + 100000 > libc.sbrk(0) - 4096:
            break
    size.value = 0xffffffffffff
    libc.malloc(120000)


def malloc_unsorted():
    blocks = [libc.malloc(4096) for _ in range(4)]
    libc.free(blocks[1])
    ctypes.c_size_t.from_address(blocks[1] - 8).value = 0xffffffffffff
    libc.malloc(5000)


def corrupted_size():
    blocks = [libc.malloc(4096) for _ in range(4)]
    libc.free(blocks[1])
    ctypes.c_size_t.from_address(blocks[2] - 16).value = 0x100
    libc.free(blocks[0])


if __name__ == "__main__":
    globals()[sys.argv[1]]()
