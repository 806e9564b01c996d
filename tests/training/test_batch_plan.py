"""Batches: what a step takes on so many ranks, and the learning rate that goes with it."""

from __future__ import annotations

from typing import Any

import pytest

from icefield_train.batch_plan import batch_warnings, plan_batches
from icefield_train.config import TrainConfig


def _plan(world_size: int, **settings: Any) -> tuple[int, int, float]:
    plan = plan_batches(TrainConfig(learning_rate=1e-4, **settings), world_size)
    return plan.global_batch_size, plan.passes, plan.learning_rate


@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
def test_a_global_batch_is_the_same_on_any_number_of_ranks(world_size: int) -> None:
    assert _plan(world_size)[0] == 32
    assert _plan(world_size, global_batch_size=48)[0] == 48
    assert _plan(world_size, global_batch_size=48, per_device_batch_size=5)[0] == 48


@pytest.mark.parametrize(
    ("world_size", "settings", "rows", "passes"),
    [
        (1, {"global_batch_size": 64, "per_device_batch_size": 16}, 64, 4),
        (4, {"global_batch_size": 64, "per_device_batch_size": 16}, 64, 1),
        (3, {"global_batch_size": 64, "per_device_batch_size": 8}, 64, 3),
        (1, {"gradient_accumulation_steps": 4}, 32, 4),
        (16, {"gradient_accumulation_steps": 4}, 32, 2),
        # The article's way: the batch grows with the ranks.
        (1, {"per_device_batch_size": 16}, 16, 1),
        (4, {"per_device_batch_size": 16}, 64, 1),
        (4, {"per_device_batch_size": 16, "gradient_accumulation_steps": 2}, 128, 2),
    ],
)
def test_rows_and_passes_of_a_step(world_size: int, settings: dict[str, Any], rows: int, passes: int) -> None:
    assert _plan(world_size, **settings)[:2] == (rows, passes)


@pytest.mark.parametrize(("rule", "factor"), [("none", 1.0), ("linear", 4.0), ("sqrt", 2.0)])
def test_the_learning_rate_follows_the_global_batch_by_the_rule(rule: str, factor: float) -> None:
    assert _plan(4, per_device_batch_size=32, lr_scaling=rule)[2] == pytest.approx(factor * 1e-4)
    # The same batch on fewer ranks has the same rate; the batch that it is meant for has the rate that was asked for.
    assert _plan(1, global_batch_size=128, lr_scaling=rule)[2] == pytest.approx(factor * 1e-4)
    assert _plan(2, global_batch_size=64, lr_reference_batch_size=64, lr_scaling=rule)[2] == pytest.approx(1e-4)


@pytest.mark.parametrize("count", range(12))
@pytest.mark.parametrize("limit", [1, 3, 4])
def test_a_hand_is_split_evenly_and_an_empty_one_makes_one_pass(count: int, limit: int) -> None:
    plan = plan_batches(TrainConfig(global_batch_size=12, per_device_batch_size=limit), 1)
    hand = list(range(count))
    parts = plan.split(hand)
    assert [row for part in parts for row in part] == hand
    assert len(parts) >= 1
    assert max(map(len, parts)) <= limit
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(
    ("world_size", "settings", "lines"),
    [
        (4, {}, []),
        (4, {"per_device_batch_size": 5}, []),
        (
            3,
            {},
            [
                "setting 'global_batch_size': 32 rows over 3 ranks are not the same for all: some take 11, others 10. "
                "The result does not change; the ranks with fewer wait"
            ],
        ),
        (4, {"global_batch_size": 3}, ["setting 'global_batch_size': 3 rows leave some of 4 ranks idle"]),
        (
            4,
            {"gradient_accumulation_steps": 9},
            ["setting 'gradient_accumulation_steps': 9 passes asked for, a rank has 8 rows per step"],
        ),
    ],
)
def test_a_batch_that_does_not_fit_the_ranks_is_told(
    world_size: int, settings: dict[str, Any], lines: list[str]
) -> None:
    assert batch_warnings(TrainConfig(**settings), world_size) == lines
