"""Words that other readers take for a missing value."""

from __future__ import annotations

from collections import Counter

from icefield_train.doctor.findings import Findings, counted
from icefield_train.part import Part

# What pandas reads as missing, where it is not told otherwise.
_MISSING = frozenset({"null", "NULL", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "None", "-nan", "-NaN", "<NA>"})


def tell_missing_words(part: Part, findings: Findings) -> None:
    """Tell of texts that are such a word and nothing else; they are texts."""
    cells = (row[name] for row in part.rows for name in ("text", "text_pair") if row.get(name) in _MISSING)
    found = Counter(cells)
    if found:
        shown = ", ".join(f"'{word}'" for word in sorted(found))
        findings.note(
            f"{part.source}: {counted(found.total(), 'text says', 'texts say')} {shown}, which is read as text"
        )
