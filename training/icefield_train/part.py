"""Rows of one split, in the form in which they are staged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


def labels_of(kind: str, row: Mapping[str, Any]) -> list[int]:
    """Return the indices of the classes that a row has; a tag as often as it has it, none for numbers and texts."""
    label = row["label"]
    match kind:
        case "classification":
            return [label]
        case "multilabel":
            return [index for index, value in enumerate(label) if value]
        case "tokens":
            return list(label)
        case _:
            return []


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Rows of a split, and where each comes from.

    A row is ``{"id", "text", "text_pair", "label"}``, or ``{"id", "tokens", "label"}``; its label is what the task's
    kind says, and None in a row to predict.
    """

    path: Path
    rows: Rows
    places: list[int]
    """Number of each row's line, or row, in the file."""
    unit: str = "line"
    title: str = ""
    """What findings call it, where the name of the file says too little."""

    @property
    def source(self) -> str:
        """What findings call it."""
        return self.title or self.path.name
