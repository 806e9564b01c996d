"""Records of a data file, whatever its format was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Records of equal length, and where each begins in its file."""

    path: Path
    columns: tuple[str, ...]
    records: list[tuple[Any, ...]]
    places: list[int]
    """Number of the line, or of the row, from 1."""
    unit: str = "line"
    """What the places count: "line" or "row"."""
    label_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the classes of a column of indices, where the format keeps them."""

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column."""
        index = self.columns.index(name)
        return [record[index] for record in self.records]
