"""transformers' Trainer with the snippet of examples/save: the directory of examples/, that of the checkpoints, the last step."""

import sys
import time

examples, directory, last = sys.argv[1:]
sys.path.insert(0, examples + "/save")

import torch
from stop_trainer import StopTogether
from transformers import Trainer, TrainingArguments


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.steps = 0

    def forward(self, x, labels=None):
        self.steps += 1
        if self.steps == 4:
            print("three steps", flush=True)
        time.sleep(0.1)
        y = self.layer(x)
        return {"loss": (y - labels).square().mean(), "logits": y}


data = [{"x": torch.randn(4), "labels": torch.zeros(1)} for _ in range(4000)]
trainer = Trainer(Model(), TrainingArguments(directory, max_steps=int(last), save_strategy="no", use_cpu=True, report_to=[],
                                             disable_tqdm=True), train_dataset=data, callbacks=[StopTogether()])
trainer.train()
print("ends at step", trainer.state.global_step, flush=True)
