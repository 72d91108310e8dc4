"""Starts torch's own worker server in each rank, as gangrun launch --torch-control-plane asks for: import torch calls it."""


def start():
    import os

    directory, rank = os.environ.get("GANGRUN_TORCH_SOCKETS"), os.environ.get("RANK")
    if not directory or not rank or not os.environ.get("LOCAL_RANK"):
        return  # a launcher, of which PyTorchJob sets RANK: its ranks come here, too
    try:
        del os.environ["GANGRUN_TORCH_SOCKETS"]  # the rank's own children are no ranks
        from torch._C._distributed_c10d import _WorkerServer

        global server
        server = _WorkerServer(os.path.join(directory, f"{rank}-{os.getpid()}.sock"))
    except BaseException:
        pass  # what goes wrong here must not fail import torch
