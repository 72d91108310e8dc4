#!/usr/bin/env python3
"""A callback for Lightning that reports steps, phases and the time for data: Trainer(..., callbacks=[Report()])."""

import time

import report

try:
    import lightning.pytorch as lightning
except ImportError:
    import pytorch_lightning as lightning


class Report(lightning.Callback):
    waited = None  # since when, for data

    def on_train_epoch_start(self, trainer, module):
        self.waited, self.own = time.monotonic(), 0.0

    def on_train_batch_start(self, trainer, module, batch, index):
        self.own = time.monotonic() - self.waited

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        report.step(trainer.global_step, self.own)
        self.waited = time.monotonic()

    def on_validation_start(self, trainer, module):
        report.phase("eval")

    def on_validation_end(self, trainer, module):
        report.phase("train")

    def on_save_checkpoint(self, trainer, module, checkpoint):
        report.phase("checkpoint")  # the next step ends it, or the end of all

    def on_fit_end(self, trainer, module):
        report.phase("train")


def main():
    import tempfile

    import torch

    class Line(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(1, 1)

        def training_step(self, batch, index):
            return torch.nn.functional.mse_loss(self.line(batch), 2 * batch)

        def validation_step(self, batch, index):
            self.training_step(batch, index)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.001)

    data = torch.utils.data.DataLoader(torch.arange(8.0).reshape(-1, 1), batch_size=2)
    with tempfile.TemporaryDirectory() as directory:
        lightning.Trainer(
            default_root_dir=directory, max_epochs=3, accelerator="cpu", logger=False, enable_progress_bar=False, callbacks=[Report()]
        ).fit(Line(), data, data)
    print("done")


if __name__ == "__main__":
    main()
