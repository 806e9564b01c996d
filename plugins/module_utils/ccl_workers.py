"""Cores for oneCCL's threads on a node, taken from those of the ranks. Pure.

The article gives oneCCL 4 of a server's 32 cores, and the ranks 28 threads on the others: an eighth. A thread of oneCCL
polls, so a core that it shares with a rank's threads is lost to both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# One core of so many.
CORES_PER_WORKER = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """How a node's processors are shared out."""

    ccl_cpus: list[int]
    """CPU numbers of oneCCL's threads, those of the first rank first; none where a rank has too few cores to give."""
    ranks: list[list[int]]
    """CPU numbers of each rank, hyper-threads of its cores included; none where nothing was taken."""
    threads: int
    """Threads of each rank: one per core; 0 where nothing was taken."""


NOTHING_TAKEN = Share(ccl_cpus=[], ranks=[], threads=0)


def share(tuning: Mapping[str, Any], nproc_per_node: int) -> Share:
    """Share a node out.

    Where a quota leaves less than the cores, or a rank has fewer than 8, oneCCL gets no threads of its own: its rank
    does their work.

    Args:
        tuning: what the node measured about itself: ``cpus`` that it can keep busy, ``core_cpus``, the CPU numbers of
            each core.
        nproc_per_node: ranks on it.
    """
    cores = [list(cpus) for cpus in tuning.get("core_cpus", [])]
    each = len(cores) // nproc_per_node
    workers = each // CORES_PER_WORKER
    if tuning["cpus"] < len(cores) or workers == 0:
        return NOTHING_TAKEN
    taken, left = cores[: workers * nproc_per_node], cores[workers * nproc_per_node :]
    threads = len(left) // nproc_per_node
    blocks = [left[rank * threads : (rank + 1) * threads] for rank in range(nproc_per_node)]
    return Share(
        ccl_cpus=[cpus[0] for cpus in taken],
        ranks=[sorted(cpu for cpus in block for cpu in cpus) for block in blocks],
        threads=threads,
    )
