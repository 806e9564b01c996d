"""What becomes of rows whose text or label is missing."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from icefield_train.doctor.findings import Faults, Findings, counted
from icefield_train.readers.table import Table
from icefield_train.showing import shown

# Blanks, those without width among them, joiners with nothing to join, and byte order marks.
_NOTHING = re.compile("[\\s\u200b-\u200d\u2060\ufeff]*")


def is_empty(cell: Any) -> bool:
    """Tell whether a cell has nothing in it that is seen. The words "null" and "NA" are something."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    return isinstance(cell, str) and bool(_NOTHING.fullmatch(cell))


class EmptyCells:
    """Decides about the rows of one file, and tells of them in the end.

    "drop" leaves such rows out, "empty" takes a missing text as one without words, "fail" refuses the file. A label
    that is missing can't be taken as anything: with "empty" such a row is refused as well.
    """

    def __init__(self, policy: str, table: Table) -> None:
        self._policy, self._table = policy, table
        self._faults = Faults(table.path, table.unit)
        self._dropped: list[tuple[int, str]] = []
        self._kept = 0

    def keeps(self, place: int, texts: Sequence[str], label: str = "") -> bool:
        """Tell whether a row stays, by the names of its columns that are empty: those of text, that of labels."""
        if not texts and not label:
            return True
        column = label or texts[0]
        if self._policy == "drop":
            self._dropped.append((place, f"left out: column '{shown(column)}' is empty"))
            return False
        if self._policy == "fail" or label:
            self._faults.add(place, f"column '{shown(column)}' is empty, {'a label' if label else 'a text'} expected")
            return False
        self._kept += 1
        return True

    def finish(self, findings: Findings) -> None:
        """Tell what was done.

        Raises:
            ValueError: rows were refused.
        """
        self._faults.refuse("set empty_cells=drop to leave such rows out")
        source = self._table.path.name
        findings.warn_each(source, self._table.unit, self._dropped, "rows left out for an empty cell")
        if self._kept:
            findings.note(f"{source}: {counted(self._kept, 'row')} with an empty text, kept as it is")
