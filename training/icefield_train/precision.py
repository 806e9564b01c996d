"""In which precision to calculate."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import torch

# Names that Linux gives to instructions that multiply bf16 numbers (x86, Arm).
BF16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})


def agreed_precision(wanted: str, flags_of_ranks: Sequence[Sequence[str]]) -> str:
    """Return "fp32" or "bf16"; ``auto`` is bf16 only where the CPUs of all ranks calculate in it."""
    if wanted != "auto":
        return wanted
    return "bf16" if all(BF16_FLAGS.intersection(flags) for flags in flags_of_ranks) else "fp32"


def calculating_in(precision: str) -> contextlib.AbstractContextManager[object]:
    """Return the context in which the model runs; weights stay in fp32 in either precision."""
    if precision == "bf16":
        return torch.autocast("cpu", dtype=torch.bfloat16)
    return contextlib.nullcontext()
