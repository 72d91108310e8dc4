"""Triton kernels that go wrong: one writes beyond its array, one does not compile, one asserts."""

import triton
import triton.language as tl


@triton.jit
def bad(p, off):
    tl.store(p + off + tl.arange(0, 8), 1.0)


@triton.jit
def bad2(p, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(p + i, 1.0)


@triton.jit
def checked(p):
    x = tl.load(p + tl.arange(0, 8))
    tl.device_assert(x > 0, 'not positive')
    tl.store(p + tl.arange(0, 8), x)
