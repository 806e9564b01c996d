"""Gradients in 16 bits, as they travel between ranks. Sums are made in 32."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch

# The largest number is brought below 2 to this: float16 ends at 65504.
_FP16_EXPONENT = 15
# Powers of two beyond this do not fit into float32.
_LARGEST_SHIFT = 126


class Wire(ABC):
    """One form of numbers on the wire."""

    dtype: torch.dtype
    header: int
    """Numbers in front of those of the tensor."""

    @abstractmethod
    def encode(self, values: torch.Tensor, out: torch.Tensor) -> None:
        """Write values, float32 [n], into ``out``: ``dtype`` [header + n]."""

    @abstractmethod
    def decode(self, data: torch.Tensor, out: torch.Tensor) -> None:
        """Write what ``encode`` made, ``dtype`` [header + n], into ``out``: float32 [n]."""


class _Bf16(Wire):
    """The upper half of a float32, rounded: the same range, 8 bits of precision."""

    dtype = torch.bfloat16
    header = 0

    def encode(self, values: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(values)

    def decode(self, data: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(data)


class _Fp16(Wire):
    """11 bits of precision and a small range, into which each tensor is shifted by a power of two of its own.

    The power goes in front, as a number. Without it most gradients would be lost: float16 ends at 6e-8.
    """

    dtype = torch.float16
    header = 1

    def encode(self, values: torch.Tensor, out: torch.Tensor) -> None:
        low, high = torch.aminmax(values) if values.numel() else (values.sum(), values.sum())
        largest = max(-float(low), float(high))
        shift = 0
        # What is not a number stays none, with any power.
        if largest and math.isfinite(largest):
            shift = min(_FP16_EXPONENT - math.frexp(largest)[1], _LARGEST_SHIFT)
        out[0] = shift
        out[1:].copy_(values * 2.0**shift)

    def decode(self, data: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(data[1:]).mul_(2.0 ** -int(data[0]))


_WIRES: dict[str, Wire] = {"bf16": _Bf16(), "fp16": _Fp16()}


def wire_of(name: str) -> Wire:
    """Return the form of that name.

    Raises:
        ValueError: there is none.
    """
    try:
        return _WIRES[name]
    except KeyError:
        raise ValueError(f"'{name}' is no 16-bit format of the wire; give one of {', '.join(_WIRES)}") from None
