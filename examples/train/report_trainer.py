#!/usr/bin/env python3
"""A callback for the Trainer of transformers that reports steps and phases: Trainer(..., callbacks=[Report()])."""

import report
from transformers import TrainerCallback


class Report(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        report.step(state.global_step)
        if control.should_evaluate:
            report.phase("eval")
        elif control.should_save:
            report.phase("checkpoint")

    def on_prediction_step(self, args, state, control, **kwargs):
        report.phase("eval")

    def on_evaluate(self, args, state, control, **kwargs):
        report.phase("checkpoint" if control.should_save else "train")

    def on_save(self, args, state, control, **kwargs):
        report.phase("train")


def main():
    import tempfile

    import torch
    from transformers import Trainer, TrainingArguments

    class Line(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(1, 1)

        def forward(self, x, labels):
            y = self.line(x)
            return {"loss": torch.nn.functional.mse_loss(y, labels), "logits": y}

    data = [{"x": torch.tensor([float(i)]), "labels": torch.tensor([2.0 * i])} for i in range(8)]
    with tempfile.TemporaryDirectory() as directory:
        Trainer(
            model=Line(),
            args=TrainingArguments(
                directory, max_steps=12, eval_strategy="steps", eval_steps=4, save_steps=4, report_to=[], use_cpu=True, disable_tqdm=True
            ),
            train_dataset=data,
            eval_dataset=data,
            callbacks=[Report()],
        ).train()
    print("done")


if __name__ == "__main__":
    main()
