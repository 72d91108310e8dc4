"""Adapters of PEFT, saved by themselves and by the Trainer of transformers."""

import os
import pathlib
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import peft
import torch
import transformers
from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainerCallback

import of_torch
from content import generation_of, value

VERSIONS = {library.__name__: library.__version__ for library in (peft, transformers, torch)}
ARRAYS = 2


class Config(PretrainedConfig):
    model_type = "dense"


class Model(PreTrainedModel):
    config_class = Config

    def __init__(self, config):
        super().__init__(config)
        self.dense = torch.nn.Linear(16, 16)
        self.post_init()

    def _init_weights(self, module):
        pass

    def forward(self, x=None, labels=None, **kwargs):
        return {"loss": self.dense(torch.ones(1, 16)).sum()}


def adapted():
    return peft.get_peft_model(Model(Config()), peft.LoraConfig(r=4, target_modules=["dense"]))


def fill(model, optimizer, now):
    trained = [p for p in model.parameters() if p.requires_grad]
    with torch.no_grad():
        for i, p in enumerate(trained):
            p.fill_(value(now, i))
            if optimizer:
                for name in ("exp_avg", "exp_avg_sq"):
                    optimizer.state[p][name].fill_(value(now, i))


def filled(model, optimizer):
    trained = [p for p in model.parameters() if p.requires_grad]
    found = {generation_of([p.detach().numpy() for p in trained])}
    for name in ("exp_avg", "exp_avg_sq") if optimizer else ():
        found.add(generation_of([optimizer.state[p][name].numpy() for p in trained]))
    if len(found) != 1:
        raise ValueError(f"of several generations: {found}")
    return found.pop()


def adapter_write(folder, in_place, journal):
    model = adapted()
    for now, step in of_torch.numbered(in_place):
        fill(model, None, now)
        path = folder / f"adapter-{step}"
        journal.begin(now)
        model.save_pretrained(str(path))
        journal.end(now, path)


def adapter_load(path):
    return filled(peft.PeftModel.from_pretrained(Model(Config()), str(path), is_trainable=True), None)


class Saving(of_torch.Saving):
    def _save_checkpoint(self, *args, **kwargs):
        self.now += 1
        fill(self.model, self.optimizer.optimizer, self.now)
        self.state.log_history = [{"generation": self.now, "step": self.state.global_step}]
        self.journal.begin(self.now)
        Trainer._save_checkpoint(self, *args, **kwargs)
        self.journal.end(self.now, pathlib.Path(self.args.output_dir, f"checkpoint-{self.state.global_step}"))


def trainer_write(folder, in_place, journal):
    trainer = Saving(model=adapted(), args=of_torch.arguments(folder), train_dataset=of_torch.Data())
    trainer.journal = journal
    trainer.train()


class Resumed(TrainerCallback):
    found, step = None, None

    def on_train_begin(self, args, state, control, model=None, optimizer=None, **kwargs):
        self.found, self.step = filled(model, optimizer.optimizer), state.global_step
        if state.log_history[-1]["generation"] != self.found:
            raise ValueError(f"trainer_state.json is of {state.log_history[-1]}, and the weights are of {self.found}")
        control.should_training_stop = True


def trainer_load(path):
    resumed = Resumed()
    with tempfile.TemporaryDirectory() as output:
        trainer = Trainer(model=adapted(), args=of_torch.arguments(output), train_dataset=of_torch.Data(), callbacks=[resumed])
        trainer._load_rng_state(str(path))
        trainer.train(resume_from_checkpoint=str(path))
    if f"checkpoint-{resumed.step}" != path.name:
        raise ValueError(f"{path} is of step {resumed.step}")
    return resumed.found


FORMATS = {"PEFT": (adapter_write, adapter_load), "Trainer, adapter": (trainer_write, trainer_load)}
