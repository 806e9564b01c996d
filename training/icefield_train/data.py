"""Rows as tokens: tokenised once, kept flat, padded per batch."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

# Rows that the tokeniser gets at a time; its output is lists of Python numbers, many times the size of what is kept.
_CHUNK_ROWS = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodedRows:
    """Tokenised rows, end to end in one flat tensor for each of the model's inputs."""

    inputs: dict[str, torch.Tensor]
    """Name of the input -> int32 [tokens of all rows]."""
    padding: dict[str, int]
    """Name of the input -> value behind the end of a row."""
    starts: list[int]
    """Where each row starts; one more than there are rows, the last being the end."""
    labels: torch.Tensor
    """int64 [rows]."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> list[int]:
        """Tokens of each row."""
        return [end - start for start, end in zip(self.starts, self.starts[1:], strict=False)]

    def batch(self, rows: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return the model's inputs for these rows, and ``labels``: int64 [rows, longest of them] and [rows]."""
        spans = [(self.starts[row], self.starts[row + 1]) for row in rows]
        shape = (len(rows), max(end - start for start, end in spans))
        batch = {name: torch.full(shape, value, dtype=torch.int64) for name, value in self.padding.items()}
        batch["attention_mask"] = torch.zeros(shape, dtype=torch.int64)
        for place, (start, end) in enumerate(spans):
            for name, flat in self.inputs.items():
                batch[name][place, : end - start] = flat[start:end]
            batch["attention_mask"][place, : end - start] = 1
        return {**batch, "labels": self.labels[list(rows)]}


def encode(rows: Sequence[dict[str, Any]], tokenizer: Any, max_length: int) -> EncodedRows:
    """Tokenise rows; each is cut at ``max_length`` tokens, the longer of its two sentences first.

    Raises:
        ValueError: the tokeniser has no padding token.
    """
    if tokenizer.pad_token_id is None:
        raise ValueError("the model's tokeniser has no padding token; batches of several rows can't be made")
    names = [name for name in tokenizer.model_input_names if name != "attention_mask"]
    flat = {name: array("i") for name in names}
    starts = [0]
    for first in range(0, len(rows), _CHUNK_ROWS):
        chunk = rows[first : first + _CHUNK_ROWS]
        pairs = [row["text_pair"] for row in chunk] if chunk[0]["text_pair"] is not None else None
        encoded = tokenizer([row["text"] for row in chunk], pairs, truncation=True, max_length=max_length)
        for name in names:
            for tokens in encoded[name]:
                flat[name].extend(tokens)
        for tokens in encoded["input_ids"]:
            starts.append(starts[-1] + len(tokens))
    return EncodedRows(
        inputs={name: torch.frombuffer(values, dtype=torch.int32) for name, values in flat.items()},
        padding={name: int(tokenizer.pad_token_id) if name == "input_ids" else 0 for name in names},
        starts=starts,
        labels=torch.tensor([row["label"] for row in rows], dtype=torch.int64),
    )
