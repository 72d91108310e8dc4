"""Formats of torch and of the libraries on top of it."""

import itertools
import logging
import os
import pathlib
import tempfile
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
warnings.simplefilter("ignore")

import accelerate
import lightning_fabric
import pytorch_lightning as lightning
import safetensors
import safetensors.torch
import torch
import torch.distributed
import torch.distributed.checkpoint as dcp
import transformers
from pytorch_lightning.callbacks import ModelCheckpoint
from torch.distributed.checkpoint.state_dict_saver import async_save
from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainerCallback, TrainingArguments

from content import ARRAYS, SHAPE, generation_of, value

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

LIBRARIES = torch, safetensors, transformers, accelerate, lightning
VERSIONS = {library.__name__: library.__version__ for library in LIBRARIES}


def numbered(in_place):
    """Generations, and the step to save each as."""
    for now in itertools.count(1):
        yield now, 1 if in_place else now


def tensors(generation):
    return {f"layer{i}": torch.full(SHAPE, value(generation, i)) for i in range(ARRAYS)}


def generation(tensors, *more):
    return generation_of([tensors[f"layer{i}"].numpy() for i in range(ARRAYS)], more)


# torch.save and safetensors: a file each.

def files(name, save, load):
    def write(folder, in_place, journal):
        for now, step in numbered(in_place):
            state, path = tensors(now), folder / name.format(step)
            journal.begin(now)
            save(state, path)
            journal.end(now, path)

    return write, lambda path: generation(load(path))


def save_legacy(state, path):
    torch.save(state, path, _use_new_zipfile_serialization=False)


# torch.distributed.checkpoint: a directory each.

def dcp_write(save, ranks=1):
    def write(folder, in_place, journal):
        rank = 0
        if ranks > 1:
            rank = 1 if os.fork() == 0 else 0
            torch.distributed.init_process_group(
                "gloo", init_method=f"file://{folder}.store", rank=rank, world_size=ranks)
        for now, step in numbered(in_place):
            state, path = {"model": tensors(now), "generation": now}, folder / f"save-{step}"
            if rank:
                save(state, path)
                continue
            journal.begin(now)
            save(state, path)
            journal.end(now, path)

    return write


def dcp_sync(state, path):
    dcp.save(state, checkpoint_id=path, no_dist=not torch.distributed.is_initialized())


def dcp_async(state, path):
    async_save(state, checkpoint_id=path, no_dist=True).result()


def dcp_load(path):
    state = {"model": tensors(0), "generation": 0}
    dcp.load(state, checkpoint_id=path, no_dist=True)
    return generation(state["model"], state["generation"])


# transformers: weights in shards, and the Trainer.

class Config(PretrainedConfig):
    model_type = "layers"


class Model(PreTrainedModel):
    config_class = Config

    def __init__(self, config):
        super().__init__(config)
        for i in range(ARRAYS):
            self.register_parameter(f"layer{i}", torch.nn.Parameter(torch.zeros(SHAPE)))
        self.post_init()

    def _init_weights(self, module):
        pass

    def forward(self, x=None, labels=None):
        return {"loss": sum(p[0, 0] for p in self.parameters()) * 0}


def fill(model, optimizer, now):
    """Sets weights and the optimizer's state to a generation."""
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.fill_(value(now, i))
            if optimizer:
                for name in ("exp_avg", "exp_avg_sq"):
                    optimizer.state[parameter][name].fill_(value(now, i))


def filled(model, optimizer):
    """The generation of weights and of the optimizer's state."""
    found = generation_of([p.detach().numpy() for p in model.parameters()])
    for name in ("exp_avg", "exp_avg_sq") if optimizer else ():
        state = generation_of([optimizer.state[p][name].numpy() for p in model.parameters()])
        if state != found:
            raise ValueError(f"the optimizer is of generation {state}, and the weights are of {found}")
    return found


def sharded_write(folder, in_place, journal):
    model = Model(Config())
    for now, step in numbered(in_place):
        fill(model, None, now)
        path = folder / f"save-{step}"
        journal.begin(now)
        model.save_pretrained(path, max_shard_size="1MB")
        journal.end(now, path)


def sharded_load(path):
    path = path.parent if path.suffix == ".json" else path
    model, said = Model.from_pretrained(path, local_files_only=True, output_loading_info=True)
    if said["missing_keys"] or said["mismatched_keys"]:
        raise ValueError(f"not all weights are there: {said}")
    return filled(model, None)


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 10**6

    def __getitem__(self, i):
        return {"x": torch.zeros(1)}


def arguments(folder):
    return TrainingArguments(
        output_dir=str(folder), max_steps=10**6, save_steps=1, save_total_limit=2, per_device_train_batch_size=1,
        use_cpu=True, report_to=[], logging_strategy="no", disable_tqdm=True, dataloader_pin_memory=False)


class Saving(Trainer):
    journal, in_place, now = None, False, 0

    def _save_checkpoint(self, *args, **kwargs):
        self.now += 1
        if self.in_place:
            self.state.global_step = 1
        fill(self.model, self.optimizer.optimizer, self.now)
        self.state.log_history = [{"generation": self.now, "step": self.state.global_step}]
        self.journal.begin(self.now)
        super()._save_checkpoint(*args, **kwargs)
        self.journal.end(self.now, pathlib.Path(self.args.output_dir, f"checkpoint-{self.state.global_step}"))


def trainer_write(folder, in_place, journal):
    trainer = Saving(model=Model(Config()), args=arguments(folder), train_dataset=Data())
    trainer.journal, trainer.in_place = journal, in_place
    trainer.train()


class Resumed(TrainerCallback):
    found, step = None, None

    def on_train_begin(self, args, state, control, model=None, optimizer=None, **kwargs):
        self.found = filled(model, optimizer.optimizer)
        if state.log_history[-1]["generation"] != self.found:
            raise ValueError(f"trainer_state.json is of {state.log_history[-1]}, and the weights are of {self.found}")
        self.step = state.global_step
        control.should_training_stop = True


def trainer_load(path):
    resumed = Resumed()
    with tempfile.TemporaryDirectory() as output:
        trainer = Trainer(model=Model(Config()), args=arguments(output), train_dataset=Data(), callbacks=[resumed])
        trainer._load_rng_state(str(path))  # train comes to that later
        trainer.train(resume_from_checkpoint=str(path))
    if f"checkpoint-{resumed.step}" != path.name:
        raise ValueError(f"{path} is of step {resumed.step}")
    return resumed.found


# Accelerate.

class Registered:
    now = 0

    def state_dict(self):
        return {"generation": self.now}

    def load_state_dict(self, state):
        self.now = state["generation"]


def accelerated():
    model = Model(Config())
    optimizer = torch.optim.AdamW(model.parameters())
    scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer)
    accelerator = accelerate.Accelerator(cpu=True)
    model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
    registered = Registered()
    accelerator.register_for_checkpointing(registered)
    return accelerator, model, optimizer, registered


def accelerate_write(folder, in_place, journal):
    accelerator, model, optimizer, registered = accelerated()
    accelerator.backward(model()["loss"])
    optimizer.step()
    for now, step in numbered(in_place):
        fill(model, optimizer.optimizer, now)
        registered.now, path = now, folder / f"checkpoint_{step}"
        journal.begin(now)
        accelerator.save_state(str(path))
        journal.end(now, path)


def accelerate_load(path):
    accelerator, model, optimizer, registered = accelerated()
    accelerator.load_state(str(path))
    found = filled(model, optimizer.optimizer)
    if registered.now != found:
        raise ValueError(f"the registered object is of generation {registered.now}, and the weights are of {found}")
    return found


# Lightning.

class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = Model(Config())

    def training_step(self, batch, index):
        return self.model()["loss"]

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


class SavingCallback(ModelCheckpoint):
    journal, now, under_way = None, 0, False

    def _save_checkpoint(self, trainer, path):
        if self.under_way:
            return super()._save_checkpoint(trainer, path)
        self.now, self.under_way = self.now + 1, True
        fill(trainer.lightning_module.model, trainer.optimizers[0], self.now)
        self.journal.begin(self.now)
        super()._save_checkpoint(trainer, path)
        self.journal.end(self.now, path)
        self.under_way = False


def lightning_trainer(folder, *callbacks):
    return lightning.Trainer(
        default_root_dir=folder, max_steps=10**6, accelerator="cpu", devices=1, logger=False, callbacks=list(callbacks),
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=bool(callbacks))


def batches():
    return torch.utils.data.DataLoader(Data(), batch_size=1)


def lightning_write(folder, in_place, journal):
    names = {"filename": "state", "enable_version_counter": False} if in_place else {"save_top_k": -1}
    saving = SavingCallback(dirpath=folder, every_n_train_steps=1, **names)
    saving.journal = journal
    lightning_trainer(folder, saving).fit(Module(), batches())


class Loaded(lightning.Callback):
    found = None

    def on_train_start(self, trainer, module):
        self.found = filled(module.model, trainer.optimizers[0])
        raise KeyboardInterrupt


def lightning_load(path):
    loaded = Loaded()
    with tempfile.TemporaryDirectory() as output:
        try:
            lightning_trainer(output, loaded).fit(Module(), batches(), ckpt_path=str(path), weights_only=False)
        except (KeyboardInterrupt, SystemExit):
            pass
    if loaded.found is None:
        raise ValueError("it was not loaded")
    return loaded.found


# Fabric: one file, by the loop of whoever uses it.

def fabricated():
    fabric = lightning_fabric.Fabric(accelerator="cpu", devices=1)
    model = Model(Config())
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters()))
    return fabric, model, optimizer


def fabric_write(folder, in_place, journal):
    fabric, model, optimizer = fabricated()
    fabric.backward(model()["loss"])
    optimizer.step()
    for now, step in numbered(in_place):
        fill(model, optimizer.optimizer, now)
        path = folder / f"step-{step}.ckpt"
        journal.begin(now)
        fabric.save(path, {"model": model, "optimizer": optimizer, "step": now})
        journal.end(now, path)


def fabric_load(path):
    fabric, model, optimizer = fabricated()
    state = {"model": model, "optimizer": optimizer, "step": 0}
    fabric.load(path, state)
    found = filled(model, optimizer.optimizer)
    if state["step"] != found:
        raise ValueError(f"of step {state['step']}, and the weights are of {found}")
    return found


FORMATS = {
    "torch.save": files("model_{}.pt", torch.save, torch.load),
    "torch.save, legacy": files("model_{}.pt", save_legacy, torch.load),
    "safetensors": files("model_{}.safetensors", safetensors.torch.save_file, safetensors.torch.load_file),
    "DCP": (dcp_write(dcp_sync), dcp_load),
    "DCP, async": (dcp_write(dcp_async), dcp_load),
    "DCP, 2 ranks": (dcp_write(dcp_sync, 2), dcp_load),
    "save_pretrained in shards": (sharded_write, sharded_load),
    "Trainer": (trainer_write, trainer_load),
    "Accelerate": (accelerate_write, accelerate_load),
    "Lightning": (lightning_write, lightning_load),
    "Fabric": (fabric_write, fabric_load),
}
