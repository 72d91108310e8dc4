"""The switches that all the trainers share."""

import argparse

import dying


def parser(description):
    """An argument parser with the shared switches; a trainer adds its own."""
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--steps", type=int, default=100, metavar="N", help="train up to this step (default %(default)s)")
    p.add_argument("--seed", type=int, default=1, help="seed of the data, the weights and the batches")
    p.add_argument("--log-every", type=int, default=10, metavar="N", help="print the loss every N steps (0: never)")
    p.add_argument("--step-time", type=float, default=0, metavar="SECONDS", help="sleep in each step")
    p.add_argument("--checkpoint-dir", metavar="DIR", help="save checkpoints here, and resume from the newest one")
    p.add_argument("--checkpoint-every", type=int, default=20, metavar="N", help="save every N steps (0: never)")
    dying.add_switches(p)
    return p


def due(step, every):
    """Whether something that happens every so many steps (0: never) happens at this one."""
    return every > 0 and step % every == 0
