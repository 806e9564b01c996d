"""Batches: each row once, the same on any number of ranks, shared out evenly."""

from __future__ import annotations

import itertools
import random

import pytest

from icefield_train.batches import deal, epoch_batches

_DICE = random.Random(7)
LENGTHS = [_DICE.randint(8, 120) for _ in range(1003)]


def _plan(epoch: int = 0, seed: int = 42, batch_size: int = 32, length_grouping: bool = True) -> list[list[int]]:
    return epoch_batches(LENGTHS, batch_size=batch_size, seed=seed, epoch=epoch, length_grouping=length_grouping)


@pytest.mark.parametrize("length_grouping", [True, False])
@pytest.mark.parametrize("batch_size", [1, 32, 1003, 5000])
def test_each_row_occurs_once_and_only_the_last_batch_is_smaller(batch_size: int, length_grouping: bool) -> None:
    batches = _plan(batch_size=batch_size, length_grouping=length_grouping)
    assert sorted(row for batch in batches for row in batch) == list(range(1003))
    assert all(len(batch) == batch_size for batch in batches[:-1])
    assert len(batches[-1]) == (1003 % batch_size or batch_size)


def test_the_plan_depends_on_seed_and_epoch_and_on_nothing_else() -> None:
    assert _plan() == _plan()
    assert _plan() != _plan(epoch=1)
    assert _plan() != _plan(seed=43)


def test_length_grouping_saves_most_of_the_padding() -> None:
    def padding(batches: list[list[int]]) -> int:
        return sum(max(LENGTHS[row] for row in batch) * len(batch) for batch in batches) - sum(LENGTHS)

    assert padding(_plan()) < 0.2 * padding(_plan(length_grouping=False))


def test_batches_of_like_length_do_not_come_in_order_of_length() -> None:
    means = [sum(LENGTHS[row] for row in batch) / len(batch) for batch in _plan()[:-1]]
    rises = sum(later > earlier for earlier, later in itertools.pairwise(means))
    assert 0.25 < rises / (len(means) - 1) < 0.75


@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 7])
def test_dealing_keeps_the_batch_and_shares_rows_and_tokens_evenly(world_size: int) -> None:
    for batch in _plan():
        hands = deal(batch, LENGTHS, world_size)
        assert len(hands) == world_size
        assert sorted(row for hand in hands for row in hand) == sorted(batch)
        sizes = [len(hand) for hand in hands]
        assert max(sizes) - min(sizes) <= 1
        if len(batch) % world_size == 0:
            tokens = [sum(LENGTHS[row] for row in hand) for hand in hands]
            longest = max(LENGTHS[row] for row in batch)
            assert max(tokens) - min(tokens) <= longest


def test_ranks_beyond_the_rows_get_none() -> None:
    assert deal([4, 9], LENGTHS, 4).count([]) == 2
