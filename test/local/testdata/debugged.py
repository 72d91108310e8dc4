"""A program to be looked at in a debugger."""

import os
import time


def loss(step):
    value = step * 2
    return value


rank = os.environ["RANK"]
total = 0
for step in range(3):
    total += loss(step)
print("endless", flush=True)
while rank == "1":  # the rank that is looked at
    time.sleep(0.01)
