"""Cuts dev rows out of training data that comes without any."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Sequence

# Not the seed of a run: runs with different seeds are measured on the same rows.
SEED = 20240


def dev_rows(contents: Sequence[Hashable], strata: Sequence[Hashable], share: float) -> list[int]:
    """Return the indices of the rows that become dev rows, ascending: the same for the same rows and share.

    Each stratum (class) gives its share of rows, but never the last of its contents. Rows of the same content stay
    together, so that none is on both sides. None are returned where no less than half of the rows could be.

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
    # Rows of one content may have different labels: a group counts for each stratum that it has rows of.
    left = Counter(stratum for rows in groups.values() for stratum in {strata[row] for row in rows})

    def can_go(rows: list[int]) -> bool:
        return all(left[strata[row]] > 1 for row in rows)

    dice = random.Random(SEED)
    chosen: list[int] = []
    # What rounding takes from one stratum goes to the next, so that small ones give rows as well; but not what a
    # stratum could not give, of which the next would have to give up more than its share.
    wanted, most = 0.0, float(min(map(len, groups.values()), default=0))
    for stratum in sorted(by_stratum, key=str):
        groups_of = by_stratum[stratum]
        dice.shuffle(groups_of)
        wanted += share * sum(len(rows) for rows in groups_of)
        for rows in groups_of:
            if wanted < 0.5:
                break
            if len(rows) - 0.5 <= wanted and can_go(rows):
                chosen += rows
                wanted -= len(rows)
                left.subtract({strata[row] for row in rows})
        wanted = min(wanted, most)
    if not chosen:
        # So few contents that no group of rows is as small as their share.
        options = [rows for groups_of in by_stratum.values() for rows in groups_of if can_go(rows)]
        smallest = min(options, key=len, default=[])
        chosen = smallest if len(smallest) == 1 or len(smallest) * 2 < len(contents) else []
    return sorted(chosen)
