"""Rows that occur more than once, within a split and across splits."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from icefield_train.doctor.findings import SHOWN, Findings, counted
from icefield_train.part import Part


def content(row: Mapping[str, Any]) -> Hashable:
    """Return what a row says, without its label."""
    return tuple(row["tokens"]) if "tokens" in row else (row["text"], row["text_pair"])


def tell_repeats(part: Part, findings: Findings) -> None:
    """Tell of rows that say what an earlier row of the split says, apart by whether their labels agree."""
    first: dict[Hashable, int] = {}
    same: list[tuple[int, int]] = []
    other: list[tuple[int, int]] = []
    for index, row in enumerate(part.rows):
        earlier = first.setdefault(content(row), index)
        if earlier != index:
            pair = (part.places[index], part.places[earlier])
            (same if part.rows[earlier]["label"] == row["label"] else other).append(pair)
    if same:
        findings.note(
            f"{part.source}: {counted(len(same), 'row repeats', 'rows repeat')} an earlier one: {_pairs(part, same)}"
        )
    if other:
        which = counted(len(other), "row repeats", "rows repeat")
        findings.warn(f"{part.source}: {which} an earlier one under another label: {_pairs(part, other)}")


def tell_overlap(train: Part, dev: Part, findings: Findings) -> None:
    """Tell of dev rows that the model sees in training: metrics on them say little."""
    seen: dict[Hashable, int] = {}
    for row, place in zip(train.rows, train.places, strict=True):
        seen.setdefault(content(row), place)
    found = [
        (place, seen[content(row)]) for row, place in zip(dev.rows, dev.places, strict=True) if content(row) in seen
    ]
    if found:
        which = f"{len(found):,} of {counted(len(dev.rows), 'row')}"
        findings.warn(
            f"{dev.source}: {which} {'is' if len(found) == 1 else 'are'} in {train.source} too: {_pairs(dev, found)}"
        )


def _pairs(part: Part, pairs: list[tuple[int, int]]) -> str:
    shown = ", ".join(f"{place} (as {earlier})" for place, earlier in pairs[:SHOWN])
    more = f" and {len(pairs) - SHOWN:,} more" if len(pairs) > SHOWN else ""
    return f"{part.unit}{'' if len(pairs) == 1 else 's'} {shown}{more}"
