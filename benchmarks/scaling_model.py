"""What a step takes on more nodes, calculated from a step on one and from what a pair of nodes can exchange.

A step of N ranks with the same rows per rank takes

    calculation of the slowest + processor time of the exchange + what of it is not hidden behind the backward pass

The exchange is a ring all-reduce: each rank sends 2 (N - 1) / N of the bytes, in 2 (N - 1) messages per bucket
(Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002). Gradients of the layers travel while the backward pass
goes on; rows of the word embeddings, whose gradient is the last to be known, after it.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace

MIB = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """A step of one rank."""

    seconds: float
    """Without any exchange."""
    cores: float
    """Which the rank has."""
    layer_bytes: float
    """Gradients that can travel during the backward pass."""
    bucket_mb: float = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """What two nodes can exchange."""

    bytes_per_second: float
    """Which a node sends in an all-reduce of the layers' gradients."""
    message_seconds: float
    """Of the smallest all-reduce of two ranks, which is two messages, halved."""
    core_seconds_per_byte: float
    """Processor time of a rank, by the bytes that it sends."""
    hidden: float = 0.0
    """Share of a step during which gradients of the layers can travel."""
    spread: float = 0.0
    """Standard deviation of the time that ranks calculate in a step, over its mean."""


def ring_bytes(size: float, ranks: int) -> float:
    """Return the bytes that each rank of a ring sends for a tensor of ``size`` bytes."""
    return 2 * (ranks - 1) / ranks * size


def slowest(ranks: int) -> float:
    """Return how many standard deviations the slowest of so many ranks is expected above the mean.

    That of normal values, by Blom's approximation (1958, Statistical Estimates and Transformed Beta-Variables).
    """
    return statistics.NormalDist().inv_cdf((ranks - 0.375) / (ranks + 0.25)) if ranks > 1 else 0.0


def step_seconds(work: Work, pair: Pair, ranks: int, row_bytes: float) -> float:
    """Return the time of a step.

    Args:
        work: the step of one rank.
        pair: the network.
        ranks: how many.
        row_bytes: of the rows of the word embeddings that the ranks exchange together; 0 = none, or within the layers'.
    """
    if ranks == 1:
        return work.seconds
    layers, rows = ring_bytes(work.layer_bytes, ranks), ring_bytes(row_bytes, ranks)
    buckets = max(1.0, work.layer_bytes / (work.bucket_mb * MIB))
    turns = 2 * (ranks - 1) * pair.message_seconds
    on_the_way = layers / pair.bytes_per_second + turns * buckets
    # The last bucket leaves when nothing is calculated any more.
    last = on_the_way / buckets
    after = rows / pair.bytes_per_second + (turns if rows else 0.0)
    working = (layers + rows) * pair.core_seconds_per_byte / work.cores
    calculated = work.seconds * (1 + pair.spread * slowest(ranks))
    return calculated + working + max(last, on_the_way - pair.hidden * work.seconds) + after


def speed_up(work: Work, pair: Pair, ranks: int, row_bytes: float) -> float:
    """Return the samples per second of ``ranks`` ranks over those of one, each with the same rows per step."""
    return ranks * work.seconds / step_seconds(work, pair, ranks, row_bytes)


def hidden_share(work: Work, pair: Pair, ranks: int, row_bytes: float, seconds: float) -> float:
    """Return the share of a step in which gradients travelled beside the calculation, from a step that was measured.

    Args:
        work, pair, ranks, row_bytes: see ``step_seconds``; ``pair.hidden`` is not used.
        seconds: what the step took. Only where the network is the limit does it tell.

    Raises:
        ValueError: the exchange took less than the calculation can hide, so that the share is not to be seen.
    """
    share = (step_seconds(work, replace(pair, hidden=0.0), ranks, row_bytes) - seconds) / work.seconds
    if not 0 <= share < 1:
        raise ValueError(f"a share of {share:.2f} of the step would be hidden; measure on a slower network")
    return share
