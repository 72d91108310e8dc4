#!/usr/bin/env python3
"""A loop of one's own that reports its steps, its phases and the time for its data."""

import time

import report


def main():
    batches = load()
    for step in range(1, 13):
        began = time.monotonic()
        batch = next(batches)
        own = time.monotonic() - began  # nobody is waited for until here
        train(batch)
        report.step(step, own)
        if step % 4 == 0:
            report.phase("eval")
            evaluate()
            report.phase("checkpoint")
            save()
            report.phase("train")
    print("done")


def load():
    while True:
        time.sleep(0.01)
        yield [1.0]


def train(batch):
    time.sleep(0.01)


def evaluate():
    time.sleep(0.02)


def save():
    time.sleep(0.02)


if __name__ == "__main__":
    main()
