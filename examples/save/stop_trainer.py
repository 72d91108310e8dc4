"""For transformers' Trainer: Trainer(callbacks=[StopTogether()]). Without gangrun it does nothing."""

from transformers import TrainerCallback

from stop import stops_at


class StopTogether(TrainerCallback):
    """All ranks save at the same step, and leave, when gangrun asks them to."""

    def on_train_begin(self, args, state, control, **_):
        stops_at(state.global_step)

    def on_step_end(self, args, state, control, **_):
        if stops_at(state.global_step):
            control.should_save = control.should_training_stop = True
