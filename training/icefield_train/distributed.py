"""All that ranks say to each other. Nothing else calls ``torch.distributed`` but ``parallel``, which is used from here.

A process on its own is rank 0 of 1: each function then does what it says without a process group.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from icefield_train.launch_env import Place
from icefield_train.parallel import ParallelModel

# Waiting ends so many seconds after the deadline: the supervisors, which know which rank is late, speak first.
_GRACE_SECONDS = 15


@dataclass(frozen=True, kw_only=True, slots=True)
class Dist:
    """This process among the ranks of the run."""

    rank: int
    world_size: int

    @property
    def is_main(self) -> bool:
        """True on rank 0, which writes the results."""
        return self.rank == 0


def start(place: Place, timeout: float) -> Dist:
    """Meet the other ranks.

    Args:
        place: this process's rank and the number of ranks.
        timeout: seconds to wait for the others.

    Raises:
        RuntimeError: they did not all come in time.
    """
    if place.world_size > 1:
        try:
            dist.init_process_group(
                "gloo", rank=place.rank, world_size=place.world_size, timeout=timedelta(seconds=timeout)
            )
            # A group exists before its ranks can talk: connections are made by the first use.
            dist.barrier()
        except dist.DistError as error:
            where = f"{os.environ.get('MASTER_ADDR', '')}:{os.environ.get('MASTER_PORT', '')}"
            raise RuntimeError(
                f"the ranks did not meet at {where} within {timeout:g} s (setting deadline_rendezvous): {error}"
            ) from error
    return Dist(rank=place.rank, world_size=place.world_size)


def stop(ranks: Dist) -> None:
    """Leave the process group."""
    if ranks.world_size > 1:
        dist.destroy_process_group()


def set_deadline(ranks: Dist, seconds: float) -> None:
    """Set how long this rank waits for others from now on."""
    if ranks.world_size > 1:
        # Torch has no public name for it; the alternative, a group of its own per phase, doubles all connections.
        dist.distributed_c10d._set_pg_timeout(timedelta(seconds=seconds + _GRACE_SECONDS))


def sum_over_ranks(ranks: Dist, values: Sequence[float]) -> list[float]:
    """Add each number over all ranks, in double precision."""
    if ranks.world_size == 1:
        return list(values)
    sums = torch.tensor(values, dtype=torch.float64)
    dist.all_reduce(sums)
    return [float(value) for value in sums]


def gather_from_ranks(ranks: Dist, value: Any) -> list[Any]:
    """Return the value of each rank, by rank."""
    if ranks.world_size == 1:
        return [value]
    values = [None] * ranks.world_size
    dist.all_gather_object(values, value)
    return values


def wait_for_ranks(ranks: Dist) -> None:
    """Return when all ranks have come here."""
    if ranks.world_size > 1:
        dist.barrier()


def at_once(ranks: Dist, work: Callable[[], Any]) -> Any:
    """Return what work returns that all ranks begin at the same time."""
    wait_for_ranks(ranks)
    return work()


def parallel(ranks: Dist, model: torch.nn.Module, *, deadline: float = 120, **options: Any) -> torch.nn.Module:
    """Return the model with gradients averaged over the ranks in each backward pass; all get rank 0's weights.

    Args:
        ranks: this process among the ranks.
        model: the model.
        deadline: seconds to wait for others in an exchange; see ``set_deadline``.
        options: how gradients are exchanged; see ``parallel.ParallelModel``.
    """
    if ranks.world_size == 1:
        return model
    with warnings.catch_warnings():
        # Torch 2.13 gives broadcast_buffers a new name, which older ones of our stacks do not know.
        warnings.simplefilter("ignore", FutureWarning)
        return ParallelModel(model, timeout=timedelta(seconds=deadline + _GRACE_SECONDS), **options)


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
