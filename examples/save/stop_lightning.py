"""For Lightning: Trainer(callbacks=[StopTogether("checkpoints")]). Without gangrun it does nothing."""

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from stop import stops_at


class StopTogether(Callback):
    """All ranks save at the same step, and leave, when gangrun asks them to."""

    def __init__(self, directory):
        self.directory = directory

    def on_train_start(self, trainer, module):
        stops_at(trainer.global_step)

    def on_train_batch_end(self, trainer, *_):
        if not trainer.should_stop and stops_at(trainer.global_step):
            trainer.save_checkpoint(f"{self.directory}/step={trainer.global_step}.ckpt")
            trainer.should_stop, trainer.limit_val_batches = True, 0
