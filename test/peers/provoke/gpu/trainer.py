"""Ways to die in transformers' Trainer and in what it loads, in one process: python3 trainer.py NAME. Without the bar each step's line is a record."""

import os
import sys

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments


def tiny():
    return BertForSequenceClassification(BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16))


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return {'input_ids': torch.ones(8, dtype=torch.long), 'attention_mask': torch.ones(8, dtype=torch.long), 'labels': torch.tensor(0)}


class Eat(TrainerCallback):
    def __init__(self, at):
        self.at = at

    def on_step_begin(self, args, state, control, **kw):
        kept = []
        while state.global_step == self.at:
            kept.append(torch.empty(8 << 30, dtype=torch.uint8, device='cuda'))


def trainer(at):
    args = TrainingArguments('out', per_device_train_batch_size=4, num_train_epochs=1, logging_steps=1, save_steps=8, report_to=[], disable_tqdm=True)
    return Trainer(tiny(), args, train_dataset=Data(), callbacks=[Eat(at)])


def pointer(directory):
    tiny().save_pretrained(directory)
    with open(directory + '/model.safetensors', 'w') as f:
        f.write('version https://git-lfs.github.com/spec/v1\noid sha256:' + 'a' * 64 + '\nsize 4242\n')


def trainer_memory_first():
    trainer(0).train()


def trainer_memory_later():
    trainer(6).train()


def trainer_pointer():
    pointer('m')
    BertForSequenceClassification.from_pretrained('m')


def trainer_resume():
    trainer(99).train()
    pointer('out/checkpoint-8')
    trainer(99).train(resume_from_checkpoint='out/checkpoint-8')


if __name__ == '__main__':
    globals()[sys.argv[1]]()
