"""Which backend averages the gradients faster, gloo or oneCCL: measured on the ranks of the run, then chosen.

Used by ``distributed`` alone.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from icefield_train.chunk_exchange import ChunkExchange
from icefield_train.wire import wire_of

BACKENDS = ("gloo", "ccl")
# What oneCCL has to save of the time that gloo takes. Less is lost again in the noise, and to the calculation beside
# which oneCCL's progress is made.
MARGIN = 0.15
# Numbers of a step's small exchange: its loss.
SMALL_BYTES = 16
# Each size is measured so often, and for so long on the whole.
_FEWEST, _MOST, _SECONDS = 5, 50, 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """Time of one exchange, by backend: the median over its repetitions of the slowest rank's."""

    bytes: int
    per_step: float
    """How many of them a step makes."""
    gloo_seconds: float
    ccl_seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The backend of a run's collectives."""

    backend: str
    reason: str
    """In words; "" where nothing was to be chosen."""
    timings: tuple[Timing, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what metrics.json tells of it."""
        found = {"collectives": self.backend, "collectives_reason": self.reason}
        return found | ({"collectives_timings": [asdict(timing) for timing in self.timings]} if self.timings else {})


def choose(timings: Sequence[Timing]) -> Choice:
    """Return the faster backend for a step of these exchanges; gloo where the difference is small."""
    gloo, ccl = (
        sum(timing.per_step * seconds for timing, seconds in zip(timings, column, strict=True))
        for column in ([timing.gloo_seconds for timing in timings], [timing.ccl_seconds for timing in timings])
    )
    words = f"exchanges of a step take {1000 * ccl:.2f} ms with ccl, {1000 * gloo:.2f} ms with gloo"
    if ccl <= (1 - MARGIN) * gloo:
        return Choice(backend="ccl", reason=words, timings=tuple(timings))
    return Choice(backend="gloo", reason=f"{words}: less than {MARGIN:.0%} saved", timings=tuple(timings))


def without_ccl(obstacles: Mapping[str, str]) -> Choice:
    """Return the choice where oneCCL cannot be used on some nodes, by the obstacle on each of these."""
    node, words = next(iter(obstacles.items()))
    more = f", nor on {len(obstacles) - 1} more" if len(obstacles) > 1 else ""
    return Choice(backend="gloo", reason=f"ccl cannot be used on {node}{more}: {words}")


def measure(
    groups: Mapping[str, dist.ProcessGroup],
    *,
    gradient_bytes: int,
    bucket_mb: int,
    wire_format: str,
    timeout: timedelta,
    touch: Callable[[], None],
) -> list[Timing]:
    """Return the times of a step's exchanges: of a bucket of gradients, as the run exchanges it, and of the loss.

    All ranks call it. Backends take turns, so that what else the machines do falls on both.

    Args:
        groups: a group of all ranks by the name of its backend; that of gloo is also used to agree.
        gradient_bytes: bytes of the gradients in fp32 that go into buckets.
        bucket_mb: MiB of a bucket.
        wire_format: format in which gradients are sent.
        timeout: how long to wait for another rank.
        touch: called between exchanges.

    Raises:
        RuntimeError: another rank is gone.
    """
    bucket = max(4, min(bucket_mb << 20, gradient_bytes))
    exchanges = {backend: _bucket_exchange(group, wire_format, timeout) for backend, group in groups.items()}
    found = _timing(groups, exchanges, torch.ones(bucket // 4), gradient_bytes / bucket, touch)
    sums = {backend: _all_reduce(group) for backend, group in groups.items()}
    return [found, _timing(groups, sums, torch.ones(SMALL_BYTES // 8, dtype=torch.float64), 1, touch)]


_Exchange = Callable[[torch.Tensor], None]


def _all_reduce(group: dist.ProcessGroup) -> _Exchange:
    def exchange(values: torch.Tensor) -> None:
        dist.all_reduce(values, group=group)

    return exchange


def _bucket_exchange(group: dist.ProcessGroup, wire_format: str, timeout: timedelta) -> _Exchange:
    if wire_format == "fp32":
        return _all_reduce(group)
    chunks = ChunkExchange(wire_of(wire_format), timeout, group)

    def exchange(values: torch.Tensor) -> None:
        chunks.average(values, 0).wait()

    return exchange


def _timing(
    groups: Mapping[str, dist.ProcessGroup],
    exchanges: Mapping[str, _Exchange],
    values: torch.Tensor,
    per_step: float,
    touch: Callable[[], None],
) -> Timing:
    seconds: dict[str, list[float]] = {backend: [] for backend in BACKENDS}
    # The first ones connect and make buffers.
    for _ in range(2):
        begun = time.perf_counter()
        for backend in BACKENDS:
            exchanges[backend](values.clone())
        touch()
    rounds = torch.tensor([_SECONDS / max(time.perf_counter() - begun, 1e-6)])
    dist.all_reduce(rounds, dist.ReduceOp.MIN, group=groups["gloo"])
    for backend in _turns(max(_FEWEST, min(_MOST, int(rounds)))):
        copy = values.clone()
        # Together, and by the same means: whoever comes late would count for the backend.
        dist.barrier(group=groups["gloo"])
        begun = time.perf_counter()
        exchanges[backend](copy)
        seconds[backend].append(time.perf_counter() - begun)
        touch()
    slowest = torch.tensor([seconds[backend] for backend in BACKENDS], dtype=torch.float64)
    dist.all_reduce(slowest, dist.ReduceOp.MAX, group=groups["gloo"])
    gloo, ccl = (statistics.median(row) for row in slowest.tolist())
    return Timing(bytes=values.numel() * values.element_size(), per_step=per_step, gloo_seconds=gloo, ccl_seconds=ccl)


def _turns(rounds: int) -> Iterator[str]:
    for number in range(rounds):
        yield from BACKENDS if number % 2 else reversed(BACKENDS)
