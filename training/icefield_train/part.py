"""Rows of one split, in the form in which they are staged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


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
