"""Fails to read or write a checkpoint in the way named by the first argument, in the working directory."""

import os
import sys

import safetensors.torch
import torch
import torch.distributed.checkpoint as dcp


def model(width=8):
    return torch.nn.Sequential(torch.nn.Linear(8, width), torch.nn.Linear(width, 8))


def cut(path, share):
    with open(path, "r+b") as file:
        file.truncate(int(os.path.getsize(path) * share))


def mismatch():
    torch.save(model(16).state_dict(), "model.pt")
    model().load_state_dict(torch.load("model.pt"))


def missing_keys():
    model().load_state_dict({"0.weight": torch.zeros(8, 8), "head.weight": torch.zeros(2)})


def truncated():
    torch.save(model(4096).state_dict(), "model.pt")
    cut("model.pt", 0.5)
    torch.load("model.pt")


def empty():
    open("model.pt", "w").close()
    torch.load("model.pt")


def garbage():
    with open("model.pt", "wb") as file:
        file.write(b"\xde\xad\xbe\xef" * 4096)
    torch.load("model.pt")


def old_format_truncated():
    torch.save(model(512).state_dict(), "model.pt", _use_new_zipfile_serialization=False)
    cut("model.pt", 0.5)
    torch.load("model.pt")


def old_pickle_truncated():
    torch.save({"steps": list(range(100000))}, "model.pt", _use_new_zipfile_serialization=False)
    cut("model.pt", 0.5)
    torch.load("model.pt", weights_only=False)


def weights_only():
    torch.save(model(), "model.pt")
    torch.load("model.pt")


def missing():
    torch.load("model.pt")


def safetensors_truncated():
    safetensors.torch.save_file(model(512).state_dict(), "model.safetensors")
    cut("model.safetensors", 0.5)
    safetensors.torch.load_file("model.safetensors")


def safetensors_header():
    with open("model.safetensors", "wb") as file:
        file.write(b"\xde\xad\xbe\xef" * 4096)
    safetensors.torch.load_file("model.safetensors")


def safetensors_short():
    with open("model.safetensors", "wb") as file:
        file.write(b"\x10\0")
    safetensors.torch.load_file("model.safetensors")


def safetensors_save():
    safetensors.torch.save_file(model(4096).state_dict(), "model.safetensors")


def save():
    torch.save(model(4096).state_dict(), "model.pt")


def save_no_folder():
    torch.save(model().state_dict(), "not-here/model.pt")


def dcp_save():
    dcp.save({"model": model(4096).state_dict()}, checkpoint_id="step-100")


def dcp_incomplete():
    os.mkdir("step-100")
    dcp.load({"model": model().state_dict()}, checkpoint_id="step-100")


def dcp_missing_key():
    dcp.save({"model": {"a": torch.zeros(4)}}, checkpoint_id="step-100")
    dcp.load({"model": {"b": torch.zeros(4)}}, checkpoint_id="step-100")


def dcp_size():
    dcp.save({"model": {"a": torch.zeros(4)}}, checkpoint_id="step-100")
    dcp.load({"model": {"a": torch.zeros(5)}}, checkpoint_id="step-100")


def dcp_truncated():
    dcp.save({"model": {"a": torch.zeros(4000)}}, checkpoint_id="step-100")
    cut("step-100/__0_0.distcp", 0.5)
    dcp.load({"model": {"a": torch.zeros(4000)}}, checkpoint_id="step-100")


globals()[sys.argv[1]]()
