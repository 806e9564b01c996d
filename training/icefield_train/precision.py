"""In which precision to calculate."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from icefield_train.model_files import takes_bf16

# Names that Linux gives to instructions that multiply bf16 numbers (x86, Arm).
BF16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})


def agreed_precision(wanted: str, flags_of_ranks: Sequence[Sequence[str]], model: Path) -> str:
    """Return "fp32" or "bf16"; ``auto`` is bf16 only where the CPUs of all ranks and the model calculate in it."""
    if wanted != "auto":
        return wanted
    if not takes_bf16(model):
        return "fp32"
    return "bf16" if all(BF16_FLAGS.intersection(flags) for flags in flags_of_ranks) else "fp32"


def calculating_in(precision: str) -> contextlib.AbstractContextManager[object]:
    """Return the context in which the model runs; weights stay in fp32 in either precision."""
    if precision == "bf16":
        return torch.autocast("cpu", dtype=torch.bfloat16)
    return contextlib.nullcontext()


@contextlib.contextmanager
def in_fp32(layer: torch.nn.Linear) -> Iterator[None]:
    """Have a linear layer calculate in fp32 within the context, whatever the precision of what surrounds it.

    Bf16 has 8 binary digits: of a number near 4 as an answer, it would leave steps of 0.03.
    """

    def again(layer: torch.nn.Module, inputs: tuple[Any, ...], output: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", enabled=False):
            return functional.linear(inputs[0].float(), layer.weight, layer.bias)

    hook = layer.register_forward_hook(again)
    try:
        yield
    finally:
        hook.remove()
