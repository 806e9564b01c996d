"""Cuts dev rows out of training data that comes without any."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence

# Not the seed of a run: runs with different seeds are measured on the same rows.
SEED = 20240


def dev_rows(contents: Sequence[Hashable], strata: Sequence[Hashable], share: float) -> list[int]:
    """Return the indices of the rows that become dev rows, ascending: the same for the same rows and share.

    Each stratum (class) gives its share of rows, but never its last one. Rows of the same content stay together, so
    that none is on both sides.

    Args:
        contents: what each row says.
        strata: class of each row; all the same where rows have none.
        share: share of the rows, above 0 and below 1.
    """
    groups: dict[Hashable, list[int]] = {}
    for index, content in enumerate(contents):
        groups.setdefault(content, []).append(index)
    by_stratum: dict[Hashable, list[list[int]]] = {}
    for rows in groups.values():
        by_stratum.setdefault(strata[rows[0]], []).append(rows)
    dice = random.Random(SEED)
    chosen: list[int] = []
    # What rounding takes from one stratum goes to the next, so that small ones give rows as well.
    wanted = 0.0
    for stratum in sorted(by_stratum, key=str):
        groups_of = by_stratum[stratum]
        dice.shuffle(groups_of)
        wanted += share * sum(len(rows) for rows in groups_of)
        for rows in groups_of[:-1]:
            if wanted < 0.5:
                break
            if len(rows) - 0.5 <= wanted:
                chosen += rows
                wanted -= len(rows)
    if not chosen:
        # So few rows that their share is less than one of them.
        largest = max(by_stratum.values(), key=len, default=[])
        chosen = largest[0] if len(largest) > 1 else []
    return sorted(chosen)
