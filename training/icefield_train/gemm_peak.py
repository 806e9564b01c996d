"""The rate at which a rank multiplies matrices when it does nothing else: what a training step can come near to."""

from __future__ import annotations

import time

import torch

# Enough to be exact to some per cent, and little beside a run.
_CPU_SECONDS = 0.25


def matrix_side(threads: int) -> int:
    """Return rows and columns of the matrices: large enough that so many threads are kept busy."""
    return min(4096, max(1024, 256 * threads))


def gemm_peak(precision: str) -> float:
    """Multiply square matrices with this process's threads; return operations per second of CPU time.

    CPU time is that of all threads, so a quota, which only makes them wait, changes nothing. A product of matrices of
    side n takes 2 n³ operations.

    Args:
        precision: "fp32" or "bf16".
    """
    side = matrix_side(torch.get_num_threads())
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    left, right = (torch.randn(side, side, generator=torch.Generator().manual_seed(seed)).to(kind) for seed in (1, 2))
    result = torch.empty(side, side, dtype=kind)
    with torch.no_grad():
        # The first one chooses a kernel and touches the memory.
        torch.mm(left, right, out=result)
        begun, count = time.process_time(), 0
        while count < 2 or time.process_time() - begun < _CPU_SECONDS:
            torch.mm(left, right, out=result)
            count += 1
        return 2.0 * side**3 * count / (time.process_time() - begun)
