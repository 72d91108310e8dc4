"""One training program that fails in one way: field.py BEFORE CASE AFTER.

BEFORE is an error that the program gets over, before it makes some steps; CASE is how it ends; AFTER is what the dying
interpreter or a thread adds. Servers are on loopback, in a thread of the program itself.
"""

import json
import logging
import os
import signal
import socket
import struct
import sys
import threading
import time
import traceback

# --- a server that does to its clients what networks and services do -------------------------------------------------


class Server:
    """Answers every connection as the mode says. Its address is .url, or .host and .port."""

    def __init__(self, mode):
        self.mode = mode
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self.listener.getsockname()
        self.url = f"http://{self.host}:{self.port}"
        if mode == "refuse":
            self.listener.close()
        else:
            threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        if self.mode == "stall":
            time.sleep(600)
        try:
            connection.recv(65536)
        except OSError:
            return
        if self.mode == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif self.mode == "short":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")
        elif self.mode != "close":
            status, _, body = self.mode.partition(" ")
            body = body.encode()
            connection.sendall(f"HTTP/1.1 {status} Status\r\nContent-Length: {len(body)}\r\n"
                               f"Content-Type: application/xml\r\nConnection: close\r\n\r\n".encode() + body)
        connection.close()


# --- what was got over -----------------------------------------------------------------------------------------------


def before_import():
    try:
        import flash_attn  # noqa: F401
    except ImportError:
        traceback.print_exc()
        print("flash_attn is not there: scaled_dot_product_attention is used")


def before_sample():
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
    try:
        {}["caption"]
    except KeyError:
        logging.getLogger("data").exception("sample 1234 cannot be read")


def before_oom():
    print("WARNING: OOM: CUDA out of memory. Tried to allocate 2.00 GiB; the batch is skipped", flush=True)


def before_retry():
    for attempt in range(3):
        try:
            raise ConnectionResetError(104, "Connection reset by peer")
        except ConnectionResetError as error:
            print(f"attempt {attempt}: {type(error).__name__}: {error}, retrying", flush=True)


def before_file():
    try:
        open("optimizer.pt", "rb")
    except FileNotFoundError:
        traceback.print_exc()


def before_disk():
    print("wandb: WARNING [Errno 28] No space left on device, disabling", flush=True)


def before_none():
    pass


def steps(n=12):
    for step in range(n):
        print(f"step {step} loss {2 / (step + 1):.3f}", flush=True)


# --- what comes after ------------------------------------------------------------------------------------------------


class Loader:
    def __init__(self):
        self.event = threading.Event()

    def __del__(self):
        None.is_set()


def after_del():
    global kept
    kept = Loader()


def after_thread():
    def monitor():
        raise AttributeError("'NoneType' object has no attribute 'log'")
    thread = threading.Thread(target=monitor, name="monitor")
    thread.start()
    thread.join()


def after_atexit():
    import atexit

    def close():
        raise TypeError("'NoneType' object is not callable")
    atexit.register(close)


def after_none():
    pass


# --- the ends --------------------------------------------------------------------------------------------------------

cases = {}


def case(function):
    cases[function.__name__] = function
    return function


def http(client, mode):
    server = Server(mode)
    url = server.url + "/models/resolve/main/config.json"
    if client == "requests":
        import requests
        requests.get(url, timeout=2).raise_for_status()
    elif client == "requests_body":
        import requests
        requests.get(url, timeout=2).json()
    elif client == "requests_retries":
        import requests
        from requests.adapters import HTTPAdapter, Retry
        session = requests.Session()
        session.mount("http://", HTTPAdapter(max_retries=Retry(2, backoff_factor=0.01, status_forcelist=[500, 503])))
        session.get(url, timeout=2)
    elif client == "urllib":
        import urllib.request
        urllib.request.urlopen(url, timeout=2).read()
    elif client == "urllib3":
        import urllib3
        urllib3.PoolManager(retries=False, timeout=2).request("GET", url)
    elif client == "httpx":
        import httpx
        httpx.get(url, timeout=2).raise_for_status()
    elif client == "aiohttp":
        import asyncio

        import aiohttp

        async def get():
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(2), raise_for_status=True) as session:
                async with session.get(url) as answer:
                    await answer.read()
        asyncio.run(get())


def s3(mode, wrap=False):
    import boto3
    from botocore.config import Config
    client = boto3.client("s3", endpoint_url=Server(mode).url, aws_access_key_id="x", aws_secret_access_key="y", region_name="us-east-1",
                          config=Config(retries={"max_attempts": 1}, read_timeout=1, connect_timeout=1))
    if not wrap:
        client.put_object(Bucket="checkpoints", Key="step-100", Body=b"x")
        return
    try:
        client.put_object(Bucket="checkpoints", Key="step-100", Body=b"x")
    except Exception as error:
        raise RuntimeError("the checkpoint could not be stored") from error


def error_xml(code, text):
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{text}</Message></Error>'


HTTP = {
    "requests_reset": ("requests", "reset"), "requests_stall": ("requests", "stall"), "requests_refuse": ("requests", "refuse"),
    "requests_close": ("requests", "close"), "requests_503": ("requests", "503"), "requests_429": ("requests", "429"),
    "requests_403": ("requests", "403"), "requests_404": ("requests", "404"), "requests_short": ("requests", "short"),
    "requests_json": ("requests_body", "200 no json"), "requests_retries": ("requests_retries", "503"),
    "urllib_503": ("urllib", "503"), "urllib_401": ("urllib", "401"), "urllib_reset": ("urllib", "reset"), "urllib_refuse": ("urllib", "refuse"),
    "urllib3_stall": ("urllib3", "stall"), "urllib3_refuse": ("urllib3", "refuse"),
    "httpx_refuse": ("httpx", "refuse"), "httpx_close": ("httpx", "close"), "httpx_stall": ("httpx", "stall"), "httpx_502": ("httpx", "502"),
    "httpx_400": ("httpx", "400"),
    "aiohttp_close": ("aiohttp", "close"), "aiohttp_stall": ("aiohttp", "stall"), "aiohttp_503": ("aiohttp", "503"), "aiohttp_refuse": ("aiohttp", "refuse"),
}
for name, (client, mode) in HTTP.items():
    cases[name] = lambda client=client, mode=mode: http(client, mode)
S3 = {
    "boto_slowdown": "503 " + error_xml("SlowDown", "Please reduce your request rate."),
    "boto_denied": "403 " + error_xml("AccessDenied", "Access Denied"),
    "boto_no_bucket": "404 " + error_xml("NoSuchBucket", "The specified bucket does not exist"),
    "boto_internal": "500 " + error_xml("InternalError", "We encountered an internal error. Please try again."),
    "boto_refuse": "refuse", "boto_stall": "stall", "boto_close": "close",
}
for name, mode in S3.items():
    cases[name] = lambda mode=mode: s3(mode)
cases["boto_wrapped"] = lambda: s3("refuse", wrap=True)


@case
def hub_503():
    os.environ["HF_ENDPOINT"] = Server("503").url
    from huggingface_hub import hf_hub_download
    hf_hub_download("org/model", "config.json")


@case
def hub_refuse():
    os.environ["HF_ENDPOINT"] = Server("refuse").url
    from transformers import AutoConfig
    AutoConfig.from_pretrained("org/model")


@case
def hub_401():
    os.environ["HF_ENDPOINT"] = Server("401").url
    from huggingface_hub import hf_hub_download
    hf_hub_download("org/model", "config.json")


@case
def grpc_refuse():
    import grpc
    channel = grpc.insecure_channel(f"127.0.0.1:{Server('refuse').port}")
    channel.unary_unary("/store.Store/Get")(b"x", timeout=5)


@case
def grpc_stall():
    import grpc
    channel = grpc.insecure_channel(f"127.0.0.1:{Server('stall').port}")
    channel.unary_unary("/store.Store/Get")(b"x", timeout=1, wait_for_ready=True)


@case
def grpc_denied():
    from concurrent import futures

    import grpc

    class Refuse(grpc.GenericRpcHandler):
        def service(self, details):
            def answer(request, context):
                context.abort(grpc.StatusCode.PERMISSION_DENIED, "the account may not read")
            return grpc.unary_unary_rpc_method_handler(answer)
    server = grpc.server(futures.ThreadPoolExecutor(1), handlers=[Refuse()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    grpc.insecure_channel(f"127.0.0.1:{port}").unary_unary("/store.Store/Get")(b"x", timeout=5)


@case
def chain_cache_then_reset():
    cache = {}
    try:
        cache["shard-0001"]
    except KeyError:
        http("urllib", "reset")


@case
def chain_reset_then_bug():
    try:
        http("urllib", "refuse")
    except OSError:
        None.retry()


@case
def task_group():
    import asyncio

    async def fetch():
        reader, _ = await asyncio.open_connection("127.0.0.1", Server("refuse").port)

    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(fetch())
            group.create_task(fetch())
    asyncio.run(main())


@case
def json_log():
    class Json(logging.Formatter):
        def format(self, record):
            out = {"time": "2026-11-22T10:00:00Z", "level": record.levelname.lower(), "msg": record.getMessage()}
            if record.exc_info:
                out["exc_info"] = self.formatException(record.exc_info)
            return json.dumps(out)
    handler = logging.StreamHandler()
    handler.setFormatter(Json())
    logging.basicConfig(handlers=[handler], force=True)
    try:
        http("urllib", "reset")
    except OSError:
        logging.exception("training failed")
        sys.exit(1)


@case
def rich_refuse():
    import rich.traceback
    rich.traceback.install(width=100)
    http("urllib", "refuse")


@case
def rich_bug():
    import rich.traceback
    rich.traceback.install(width=100, show_locals=True)
    config = {"heads": 12}
    config["hidden"] / 7


@case
def killed_child():
    import subprocess
    subprocess.run([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], check=True)


@case
def failed_child():
    import subprocess
    subprocess.run([sys.executable, "-c", "raise ValueError('heads must divide hidden')"], check=True)


@case
def abort():
    os.abort()


@case
def segv():
    import ctypes
    ctypes.string_at(0)


@case
def segv_dump():
    import faulthandler
    faulthandler.enable()
    segv()


@case
def bug_then_segv():
    after = threading.Event()

    def hook(*args):
        sys.__excepthook__(*args)
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSEGV)
    sys.excepthook = hook
    import torch
    torch.zeros(2, 3) @ torch.zeros(2, 3)
    after.set()


@case
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)


@case
def argparse_error():
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float)
    parser.parse_args(["--lr", "big"])


@case
def hydra_override():
    import hydra
    from omegaconf import OmegaConf
    from hydra.core.config_store import ConfigStore
    ConfigStore.instance().store("config", OmegaConf.structured({"trainer": {"lr": 0.1}}))
    sys.argv = ["train.py", "trainer.lrr=1"]
    hydra.main(version_base=None, config_name="config")(lambda cfg: None)()


@case
def hydra_refuse():
    import hydra
    from omegaconf import OmegaConf
    from hydra.core.config_store import ConfigStore
    ConfigStore.instance().store("config", OmegaConf.create({"lr": 0.1}))
    sys.argv = ["train.py"]
    hydra.main(version_base=None, config_name="config")(lambda cfg: http("requests", "refuse"))()


class Broken:
    """A data set whose item 5 fails in a worker process."""

    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == 5:
            self.how()
        return float(i)


def missing_key():
    {}["caption"]


def reset_by_peer():
    http("urllib", "reset")


def kill_self():
    os.kill(os.getpid(), 9)


def segfault():
    import ctypes
    ctypes.string_at(0)


def load_with(how):
    import torch
    for _ in torch.utils.data.DataLoader(Broken(how), num_workers=1):
        pass


cases["loader_key"] = lambda: load_with(missing_key)
cases["loader_reset"] = lambda: load_with(reset_by_peer)
cases["loader_killed"] = lambda: load_with(kill_self)
cases["loader_segv"] = lambda: load_with(segfault)


def spawned(rank, how):
    if rank == 1:
        time.sleep(0.5)
        how()
    time.sleep(30)


def bad_heads():
    raise ValueError("heads must divide hidden")


def spawn_with(how):
    import torch.multiprocessing
    torch.multiprocessing.spawn(spawned, args=(how,), nprocs=2)


cases["spawn_value"] = lambda: spawn_with(bad_heads)
cases["spawn_reset"] = lambda: spawn_with(reset_by_peer)
cases["spawn_killed"] = lambda: spawn_with(kill_self)
cases["spawn_segv"] = lambda: spawn_with(segfault)


@case
def store_wait():
    import datetime

    import torch.distributed as dist
    store = dist.TCPStore("127.0.0.1", 0, 1, True, timeout=datetime.timedelta(seconds=1))
    store.get("default_pg/0//cpu//0/rank_1")


@case
def store_gone():
    import datetime

    import torch.distributed as dist
    server = dist.TCPStore("127.0.0.1", 0, None, True, timeout=datetime.timedelta(seconds=2))
    client = dist.TCPStore("127.0.0.1", server.port, None, False, timeout=datetime.timedelta(seconds=2))
    del server
    client.set("step", "1")
    client.get("step")


@case
def store_refuse():
    import datetime

    import torch.distributed as dist
    dist.TCPStore("127.0.0.1", Server("refuse").port, 2, False, timeout=datetime.timedelta(seconds=1))


@case
def group_alone():
    import datetime

    import torch.distributed as dist
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    dist.init_process_group("gloo", rank=0, world_size=2, timeout=datetime.timedelta(seconds=2))


@case
def torch_shapes():
    import torch
    torch.nn.Linear(512, 10)(torch.zeros(8, 1024))


@case
def torch_state_dict():
    import torch
    torch.nn.Linear(4, 4).load_state_dict({"weight": torch.zeros(4, 5), "bias": torch.zeros(4)})


@case
def torch_truncated():
    import torch
    torch.save(torch.zeros(1000), "model.pt")
    with open("model.pt", "r+b") as file:
        file.truncate(500)
    torch.load("model.pt")


@case
def torch_index():
    import torch
    torch.nn.Embedding(10, 4)(torch.tensor([11]))


def lightning(fail):
    import pytorch_lightning as pl
    import torch

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, i):
            if i == 2:
                fail()
            return self.layer(batch.float().reshape(-1, 1)).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_model_summary=False)
    trainer.fit(Model(), torch.utils.data.DataLoader(Broken(lambda: None)))


cases["lightning_value"] = lambda: lightning(bad_heads)
cases["lightning_reset"] = lambda: lightning(reset_by_peer)
cases["lightning_sigterm"] = lambda: lightning(lambda: (os.kill(os.getpid(), signal.SIGTERM), time.sleep(0.2)))


def trainer(fail):
    import torch
    import transformers

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            if i == 5:
                fail()
            return {"x": torch.tensor([float(i)]), "labels": torch.tensor([1.0])}

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def forward(self, x, labels):
            out = self.layer(x)
            return {"loss": ((out - labels) ** 2).mean(), "logits": out}
    arguments = transformers.TrainingArguments("out", per_device_train_batch_size=1, num_train_epochs=1, report_to=[], use_cpu=True)
    transformers.Trainer(Model(), arguments, train_dataset=Data()).train()


cases["trainer_key"] = lambda: trainer(missing_key)
cases["trainer_reset"] = lambda: trainer(reset_by_peer)


@case
def tf_shapes():
    import tensorflow as tf
    tf.matmul(tf.zeros((2, 3)), tf.zeros((2, 3)))


@case
def tf_missing():
    import tensorflow as tf
    for _ in tf.data.TFRecordDataset("/data/shard-00000.tfrecord"):
        pass


@case
def tf_keras_shapes():
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(10)])
    model.compile(loss="categorical_crossentropy")
    model.fit(tf.zeros((8, 4)), tf.zeros((8, 1)), verbose=2)


@case
def jax_shapes():
    import jax.numpy as jnp
    jnp.zeros((2, 3)) @ jnp.zeros((2, 3))


@case
def jax_reset():
    import jax
    import jax.numpy as jnp

    def read(x):
        reset_by_peer()
        return x
    jax.jit(lambda x: jax.pure_callback(read, jax.ShapeDtypeStruct((), jnp.float32), x))(1.0).block_until_ready()


@case
def jax_alone():
    import jax
    jax.distributed.initialize(f"127.0.0.1:{Server('refuse').port}", 2, 1, initialization_timeout=3)


# --- what loggers and libraries make of a traceback ----------------------------------------------------------------------


def bug(heads=3):
    note = "ConnectionResetError: [Errno 104] Connection reset by peer is tried again"
    if heads != 4:
        raise ValueError(f"hidden size 4096 cannot be divided by {heads} heads")
    return note


@case
def loguru_reset():
    from loguru import logger
    logger.catch(reraise=True)(reset_by_peer)()


@case
def loguru_bug():
    from loguru import logger
    try:
        bug()
    except ValueError:
        logger.exception("the run has failed")
        sys.exit(1)


@case
def loguru_stale():
    from loguru import logger
    try:
        raise OSError(116, "Stale file handle", "/data/x.bin")
    except OSError:
        logger.opt(exception=True).critical("giving up")
        sys.exit(1)


def structured():
    import structlog
    structlog.configure(processors=[structlog.processors.add_log_level, structlog.processors.TimeStamper(fmt="iso"),
                                    structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()])
    return structlog.get_logger()


@case
def structlog_reset():
    try:
        reset_by_peer()
    except OSError:
        structured().exception("the run has failed", step=12)
        sys.exit(1)


@case
def structlog_bug():
    log = structured()
    try:
        reset_by_peer()
    except OSError:
        log.warning("tried again", exc_info=True)
    steps(4)
    try:
        bug()
    except ValueError:
        log.exception("the run has failed", step=12)
        sys.exit(1)


@case
def structlog_console():
    import structlog
    try:
        reset_by_peer()
    except OSError:
        structlog.get_logger().exception("the run has failed", step=12)
        sys.exit(1)


@case
def json_logger_bug():
    from pythonjsonlogger.json import JsonFormatter
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    log = logging.getLogger("train")
    log.addHandler(handler)
    log.propagate = False
    try:
        bug()
    except ValueError:
        log.critical("the run has failed", exc_info=True)
        sys.exit(1)


@case
def rich_locals():
    import rich.traceback
    rich.traceback.install(show_locals=True, width=100)
    bug(heads=5)


@case
def rich_timeout():
    import httpx
    import rich.traceback
    rich.traceback.install(show_locals=True, width=100)
    httpx.get(Server("stall").url, timeout=1)


@case
def rich_logged():
    from rich.logging import RichHandler
    logging.root.handlers = [RichHandler(rich_tracebacks=True)]
    try:
        raise OSError(116, "Stale file handle", "/data/x.bin")
    except OSError:
        logging.getLogger("train").exception("the run has failed")
        sys.exit(1)


@case
def coloured_chain():
    os.environ["FORCE_COLOR"] = "1"
    try:
        {}["shard-0001"]
    except KeyError:
        reset_by_peer()


@case
def coloured_bug():
    os.environ["FORCE_COLOR"] = "1"
    try:
        reset_by_peer()
    except OSError as error:
        raise TypeError("a string is needed") from error


@case
def group_rest():
    try:
        raise ExceptionGroup("loaders", [KeyError("caption"), ConnectionResetError(104, "Connection reset by peer")])
    except* KeyError:
        print("a key is missing, going on")


@case
def noted_bug():
    try:
        bug()
    except ValueError as error:
        error.add_note("seen while the loader was at work")
        error.add_note("earlier: ConnectionResetError: [Errno 104] Connection reset by peer")
        raise


@case
def bar_bug():
    from tqdm import tqdm
    for i in tqdm(range(400)):
        if i == 100:
            tqdm.write("CUDA out of memory, the batch is halved")
        1 / (300 - i)


@case
def tenacity_bug():
    import tenacity
    tenacity.retry(stop=tenacity.stop_after_attempt(2))(bug)()


@case
def tenacity_reset():
    import tenacity
    tenacity.retry(stop=tenacity.stop_after_attempt(2))(reset_by_peer)()


def look_up(key):
    return {"a": 1}[key]


@case
def pool_bug():
    import concurrent.futures
    import multiprocessing
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        pool.submit(look_up, "b").result()


@case
def recursion():
    def down(n):
        return down(n + 1) + 1
    down(0)


@case
def async_timeout():
    import asyncio

    async def wait():
        async with asyncio.timeout(0.2):
            await asyncio.sleep(60)
    asyncio.run(wait())


@case
def warning_as_error():
    import warnings
    warnings.simplefilter("error")
    warnings.warn("the connection timed out setting is deprecated")


@case
def task_forgotten():
    import asyncio

    async def fetch():
        reset_by_peer()

    async def train():
        task = asyncio.create_task(fetch())
        await asyncio.sleep(0.2)
        del task
        bug()
    asyncio.run(train())


@case
def dcp_disk():
    import torch
    import torch.distributed.checkpoint as dcp

    class Writer(dcp.FileSystemWriter):
        def write_data(self, plan, planner):
            raise OSError(5, "Input/output error", "/ckpt/__0_0.distcp")
    dcp.save({"w": torch.zeros(4)}, storage_writer=Writer(os.environ["PROVOKED_IN"]))


@case
def dcp_full():
    import torch
    import torch.distributed.checkpoint as dcp

    class Writer(dcp.FileSystemWriter):
        def write_data(self, plan, planner):
            raise OSError(28, "No space left on device", "/ckpt/__0_0.distcp")
    dcp.save({"w": torch.zeros(4)}, storage_writer=Writer(os.environ["PROVOKED_IN"]))


@case
def compile_graph_break():
    import torch

    @torch.compile(fullgraph=True, backend="eager")
    def f(x):
        print("inside")
        torch._dynamo.graph_break()
        return x + 1
    f(torch.zeros(2))


@case
def jax_deleted():
    import jax
    import jax.numpy as jnp
    jax.jit(lambda x: x + 1)(jnp.zeros(3))
    x = jnp.ones(4)
    x.delete()
    print(x + 1)


def main():
    before, name, after = sys.argv[1:4]
    globals()["before_" + before]()
    steps()
    globals()["after_" + after]()
    cases[name]()


if __name__ == "__main__":
    main()
