"""JAX programs in one process that fail, one function each; the first argument names it."""

import sys

import jax
import jax.numpy as jnp


def oom():
    jnp.ones((1 << 24, 1 << 24)).block_until_ready()


def shapes():
    jnp.ones((2, 3)) @ jnp.ones((4, 5))


def nan():
    jax.config.update("jax_debug_nans", True)
    jax.jit(jnp.log)(-1.0)


def tracer():
    jax.jit(lambda x: 1 if x > 0 else 2)(1.0)


def platform():
    jax.config.update("jax_platforms", "cuda")
    jnp.ones(3)


globals()[sys.argv[1]]()
