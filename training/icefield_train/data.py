"""Tokenised rows as tensors, padded per batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from icefield_train.encoding import Encoded


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodedRows:
    """Tokenised rows, end to end in one flat tensor for each of the model's inputs."""

    kind: str
    """A name of ``kinds.KINDS``."""
    tensors: dict[str, torch.Tensor]
    """The arrays of ``encoding.Encoded``."""
    padding: dict[str, int]
    """Name of the model's input -> value behind the end of a row."""
    starts: list[int]
    """Where each row starts; one more than there are rows, the last being the end."""
    digest: str = ""
    """What tells other tokens apart; "" where nobody asks."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> list[int]:
        """Tokens of each row."""
        return [end - start for start, end in zip(self.starts, self.starts[1:], strict=False)]

    def span(self, row: int) -> slice:
        """Return where the tokens of a row lie."""
        return slice(self.starts[row], self.starts[row + 1])

    def inputs(self, rows: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return the model's inputs for these rows: int64 [rows, longest of them] each."""
        batch = {name: self.padded(name, rows, value) for name, value in self.padding.items()}
        batch["attention_mask"] = torch.zeros_like(batch["input_ids"])
        for place, row in enumerate(rows):
            batch["attention_mask"][place, : self.starts[row + 1] - self.starts[row]] = 1
        return batch

    def padded(self, name: str, rows: Sequence[int], value: int) -> torch.Tensor:
        """Return a value for each token of these rows, ``value`` behind their ends: int64 [rows, longest of them]."""
        spans = [self.span(row) for row in rows]
        tensor = torch.full((len(rows), max(span.stop - span.start for span in spans)), value, dtype=torch.int64)
        for place, span in enumerate(spans):
            tensor[place, : span.stop - span.start] = self.tensors[name][span]
        return tensor


def encoded_rows(encoded: Encoded, kind: str) -> EncodedRows:
    """Return rows that were tokenised by this process."""
    tensors = {name: torch.from_numpy(values) for name, values in encoded.arrays.items()}
    return EncodedRows(kind=kind, tensors=tensors, padding=encoded.padding, starts=tensors["starts"].tolist())


def load_rows(path: Path, kind: str) -> EncodedRows:
    """Return the rows of a token file; ranks of one node share the memory.

    Raises:
        OSError, ValueError: the file can't be read.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged ({error}); remove it") from None
    return EncodedRows(
        kind=kind,
        tensors=tensors,
        padding=json.loads(about["padding"]),
        starts=tensors["starts"].tolist(),
        digest=about["digest"],
    )
