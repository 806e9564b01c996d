"""All that ranks say to each other.

Nothing else calls ``torch.distributed`` but ``parallel`` and ``collectives``, which are used from here.

A process on its own is rank 0 of 1: each function then does what it says without a process group.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from icefield_train import ccl, collectives
from icefield_train.collectives import Choice
from icefield_train.failures import one_line
from icefield_train.launch_env import Place
from icefield_train.parallel import ParallelModel

# Waiting ends so many seconds after the deadline: the supervisors, which know which rank is late, speak first.
_GRACE_SECONDS = 15


@dataclass(frozen=True, kw_only=True, slots=True)
class Dist:
    """This process among the ranks of the run."""

    rank: int
    world_size: int
    group: dist.ProcessGroup | None = None
    """Where the ranks talk; None where there are none to talk to."""
    backend: str = "gloo"
    """Of that group: gloo or ccl."""

    @property
    def is_main(self) -> bool:
        """True on rank 0, which writes the results."""
        return self.rank == 0


def start(place: Place, timeout: float, backend: str = "gloo", *, deadline: float = 120) -> Dist:
    """Meet the other ranks.

    Args:
        place: this process's rank and the number of ranks.
        timeout: seconds to wait for the others.
        backend: gloo or ccl.
        deadline: seconds without a sign of life after which oneCCL counts a rank as gone; gloo notices by itself.

    Raises:
        RuntimeError: they did not all come in time, or this node has no oneCCL.
    """
    ranks = Dist(rank=place.rank, world_size=place.world_size, backend=backend)
    if place.world_size == 1:
        return ranks
    if backend == "ccl":
        try:
            ccl.register(deadline + _GRACE_SECONDS)
        except (ImportError, RuntimeError, ValueError) as error:
            raise RuntimeError(f"collectives=ccl cannot be used on this node: {one_line(error)}") from error
    try:
        dist.init_process_group(
            backend, rank=place.rank, world_size=place.world_size, timeout=timedelta(seconds=timeout)
        )
        # A group exists before its ranks can talk: connections are made by the first use.
        dist.barrier()
    except dist.DistError as error:
        where = f"{os.environ.get('MASTER_ADDR', '')}:{os.environ.get('MASTER_PORT', '')}"
        raise RuntimeError(
            f"the ranks did not meet at {where} within {timeout:g} s (setting deadline_rendezvous): {error}"
        ) from error
    return replace(ranks, group=dist.group.WORLD)


def choose(
    ranks: Dist, host: str, *, deadline: float, gradient_bytes: int, touch: Callable[[], None], **options: Any
) -> tuple[Dist, Choice]:
    """Return the ranks over the faster backend, and why it is that one; all ranks, over gloo so far, call it.

    Args:
        ranks: this process among the ranks.
        host: name of this node.
        deadline: seconds to wait for others in an exchange.
        gradient_bytes: bytes of the gradients in fp32 that are exchanged in buckets.
        touch: called now and then, as it takes seconds.
        options: ``bucket_mb`` and ``wire_format``, as ``parallel`` takes them.

    Raises:
        RuntimeError: another rank is gone.
    """
    if ranks.group is None:
        return ranks, Choice(backend="gloo", reason="one rank exchanges nothing")
    timeout = timedelta(seconds=deadline + _GRACE_SECONDS)
    group = None
    for attempt in (
        lambda: ccl.register(deadline + _GRACE_SECONDS),
        # Once all have come through the first, so that none waits for one that cannot come.
        lambda: dist.new_group(backend="ccl", timeout=timeout),
    ):
        problem = ""
        try:
            group = attempt()
        except (ImportError, RuntimeError, ValueError) as error:
            problem = one_line(error)
        if obstacles := _obstacles(ranks, host, problem):
            return ranks, collectives.without_ccl(obstacles)
    assert group is not None
    groups = {"gloo": ranks.group, "ccl": group}
    choice = collectives.choose(
        collectives.measure(groups, gradient_bytes=gradient_bytes, timeout=timeout, touch=touch, **options)
    )
    if choice.backend == "ccl":
        return replace(ranks, group=group, backend="ccl"), choice
    dist.destroy_process_group(group)
    return ranks, choice


def _obstacles(ranks: Dist, host: str, mine: str) -> dict[str, str]:
    """Return what stands in the way of oneCCL, by the name of the node, of those where something does."""
    return {name: words for name, words in gather_from_ranks(ranks, (host, mine)) if words}


def stop(ranks: Dist) -> None:
    """Leave the process group."""
    if ranks.world_size > 1:
        dist.destroy_process_group()


def set_deadline(ranks: Dist, seconds: float) -> None:
    """Set how long this rank waits for others from now on."""
    if ranks.group is None:
        return
    timeout = timedelta(seconds=seconds + _GRACE_SECONDS)
    if ranks.backend == "ccl":
        ccl.set_timeout(ranks.group, timeout)
    else:
        # Torch has no public name for it; the alternative, a group of its own per phase, doubles all connections.
        dist.distributed_c10d._set_pg_timeout(timeout, ranks.group)


def waiting_for(ranks: Dist) -> str:
    """Return the operation of oneCCL that this rank is in, such as "ALLREDUCE (operation 17)"; with gloo, ""."""
    return ccl.doing(ranks.group) if ranks.group is not None and ranks.backend == "ccl" else ""


def sum_over_ranks(ranks: Dist, values: Sequence[float]) -> list[float]:
    """Add each number over all ranks, in double precision."""
    if ranks.world_size == 1:
        return list(values)
    sums = torch.tensor(values, dtype=torch.float64)
    dist.all_reduce(sums, group=ranks.group)
    return [float(value) for value in sums]


def gather_from_ranks(ranks: Dist, value: Any) -> list[Any]:
    """Return the value of each rank, by rank."""
    if ranks.world_size == 1:
        return [value]
    values = [None] * ranks.world_size
    dist.all_gather_object(values, value, group=ranks.group)
    return values


def wait_for_ranks(ranks: Dist) -> None:
    """Return when all ranks have come here."""
    if ranks.world_size > 1:
        dist.barrier(group=ranks.group)


def parallel(ranks: Dist, model: torch.nn.Module, *, deadline: float = 120, **options: Any) -> torch.nn.Module:
    """Return the model with gradients averaged over the ranks in each backward pass; all get rank 0's weights.

    Args:
        ranks: this process among the ranks.
        model: the model.
        deadline: seconds to wait for others in an exchange; see ``set_deadline``.
        options: how gradients are exchanged; see ``parallel.ParallelModel``.
    """
    if ranks.group is None:
        return model
    with warnings.catch_warnings():
        # Torch 2.13 gives broadcast_buffers a new name, which older ones of our stacks do not know.
        warnings.simplefilter("ignore", FutureWarning)
        return ParallelModel(model, timeout=timedelta(seconds=deadline + _GRACE_SECONDS), group=ranks.group, **options)


def begin_step(model: torch.nn.Module, tokens: Callable[[], torch.Tensor]) -> None:
    """Tell the model which tokens the ranks have in the step that begins; int64 [tokens], each once."""
    if isinstance(model, ParallelModel):
        model.begin_step(tokens())


@contextlib.contextmanager
def exchange(model: torch.nn.Module, *, last: bool) -> Iterator[None]:
    """Be the context of one of several passes of a step: gradients are exchanged in the last one."""
    if not isinstance(model, ParallelModel):
        yield
    elif last:
        with model.last_pass():
            yield
    else:
        with model.no_sync():
            yield


def bytes_sent(model: torch.nn.Module) -> int:
    """Return how many bytes of gradients this rank has sent so far."""
    return model.bytes_sent if isinstance(model, ParallelModel) else 0
