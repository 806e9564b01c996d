"""Which rows make which batch, and which rank trains on which of them. Plain arithmetic: the same on every rank."""

from __future__ import annotations

import random
from collections.abc import Sequence

# Rows are sorted by length within so many batches: enough to save padding, few enough to leave batches to chance.
_GROUPED_BATCHES = 50


def epoch_batches(
    lengths: Sequence[int], *, batch_size: int, seed: int, epoch: int, length_grouping: bool
) -> list[list[int]]:
    """Return the rows of each global batch of an epoch; every row occurs once, the last batch may be smaller.

    The number of ranks has no part in it, so the same batches are trained on however many there are.

    Args:
        lengths: tokens of each row.
        batch_size: rows per global batch.
        seed: seed of the run.
        epoch: number of the epoch; each has an order of its own.
        length_grouping: put rows of similar length into one batch.
    """
    dice = random.Random(f"{seed} {epoch}")
    order = list(range(len(lengths)))
    dice.shuffle(order)
    # The smaller batch is taken out before sorting, which would always fill it with the longest rows.
    whole = len(order) - len(order) % batch_size
    order, rest = order[:whole], order[whole:]
    if length_grouping:
        group = batch_size * _GROUPED_BATCHES
        groups = [order[start : start + group] for start in range(0, whole, group)]
        order = [row for rows in groups for row in sorted(rows, key=lambda row: (lengths[row], row))]
    batches = [order[start : start + batch_size] for start in range(0, whole, batch_size)]
    if length_grouping:
        dice.shuffle(batches)
    return [*batches, rest] if rest else batches


def deal(batch: Sequence[int], lengths: Sequence[int], world_size: int) -> list[list[int]]:
    """Deal the rows of a global batch to the ranks: as many to each (one more to some), of about the same length.

    Returns:
        The rows of each rank, longest first; none for some where the batch has fewer rows than there are ranks.
    """
    hands: list[list[int]] = [[] for _ in range(world_size)]
    for place, row in enumerate(sorted(batch, key=lambda row: (-lengths[row], row))):
        lap, seat = divmod(place, world_size)
        # There and back again: whoever got the longest row of a lap gets the shortest of the next.
        hands[seat if lap % 2 == 0 else world_size - 1 - seat].append(row)
    return hands
