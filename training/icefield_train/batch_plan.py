"""How the rows of an optimizer step are divided among ranks and passes, and the learning rate that goes with it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from icefield_train.config import TrainConfig

DEFAULT_GLOBAL_BATCH = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchPlan:
    """Batch and learning rate of a run on so many ranks."""

    global_batch_size: int
    """Rows per optimizer step, over all ranks."""
    passes: int
    """Forward and backward passes of the rank with most rows, per step; the gradients of all are one sum."""
    learning_rate: float
    """Peak learning rate."""

    def split(self, hand: list[int]) -> list[list[int]]:
        """Return the rows of a rank by pass, as even as can be; a rank without rows makes one empty pass."""
        count = max(1, min(self.passes, len(hand)))
        size, more = divmod(len(hand), count)
        ends = [size * part + min(part, more) for part in range(count + 1)]
        return [hand[start:end] for start, end in itertools.pairwise(ends)]


def plan_batches(config: TrainConfig, world_size: int) -> BatchPlan:
    """Return batch and learning rate.

    The global batch is ``global_batch_size``, whatever the number of ranks. Where that is 0 and
    ``per_device_batch_size`` is given, it grows with the ranks: that, times their number, times
    ``gradient_accumulation_steps``. ``lr_scaling`` multiplies the learning rate by the global batch over
    ``lr_reference_batch_size`` (linear: Goyal et al. 2017, arXiv:1706.02677), or by the square root of it (Krizhevsky
    2014, arXiv:1404.5997).
    """
    most, accumulated = config.per_device_batch_size, config.gradient_accumulation_steps
    rows = config.global_batch_size or most * world_size * accumulated or DEFAULT_GLOBAL_BATCH
    share = math.ceil(rows / world_size)
    passes = max(accumulated, math.ceil(share / most) if most else 1)
    scale = rows / config.lr_reference_batch_size
    factor = {"none": 1.0, "linear": scale, "sqrt": math.sqrt(scale)}[config.lr_scaling]
    return BatchPlan(global_batch_size=rows, passes=min(passes, share), learning_rate=config.learning_rate * factor)


def batch_warnings(config: TrainConfig, world_size: int) -> list[str]:
    """Return what a user should know of how the batch fits the ranks, a line for each."""
    plan = plan_batches(config, world_size)
    rows, share = plan.global_batch_size, math.ceil(plan.global_batch_size / world_size)
    lines = []
    if rows < world_size:
        lines.append(f"setting 'global_batch_size': {rows} rows leave some of {world_size} ranks idle")
    elif rows % world_size:
        lines.append(
            f"setting 'global_batch_size': {rows} rows over {world_size} ranks are not the same for all: some take "
            f"{share}, others {share - 1}. The result does not change; the ranks with fewer wait"
        )
    if config.gradient_accumulation_steps > share:
        lines.append(
            f"setting 'gradient_accumulation_steps': {config.gradient_accumulation_steps} passes asked for, a rank has "
            f"{share} rows per step"
        )
    return lines
