"""Lightning with the snippet of examples/save: the directory of examples/, that of the checkpoints, the last step."""

import sys
import time

examples, directory, last = sys.argv[1:]
sys.path.insert(0, examples + "/save")

import pytorch_lightning as pl
import torch
from stop_lightning import StopTogether


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        if self.global_step == 3:
            print("three steps", flush=True)
        time.sleep(0.1)
        return self.layer(batch).square().mean()

    def validation_step(self, batch, index):
        print("validates", flush=True)
        self.log("loss", self.layer(batch).square().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


data = torch.utils.data.DataLoader(torch.randn(100_000, 4), batch_size=4)
trainer = pl.Trainer(max_steps=int(last), accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
                     callbacks=[StopTogether(directory)])
trainer.fit(Model(), data, torch.utils.data.DataLoader(torch.randn(8, 4), batch_size=4))
print("ends at step", trainer.global_step, flush=True)
