"""The place of this process in the run, whatever launcher started it.

torchrun says it in torch's own variables; MPICH and Intel MPI speak PMI, Open MPI its own, PMIx and Slurm again others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass

# Launcher -> its names for rank, world size and local rank, in the order in which they are looked for.
DIALECTS: dict[str, tuple[str, str, str]] = {
    "torch": ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    "Open MPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    "PMI": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    "PMIx": ("PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK"),
    "Slurm": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
}


# When the ranks were launched, in seconds since 1970, by the clock of their node.
LAUNCHED = "ICEFIELD_LAUNCHED"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Rank, world size and local rank of a process."""

    rank: int
    world_size: int
    local_rank: int


def place_of(env: Mapping[str, str]) -> Place | None:
    """Read the place from the environment; None where no launcher set one (a process on its own).

    Raises:
        ValueError: a launcher's variables are not numbers, or the rank is not below the world size.
    """
    for launcher, (rank_name, size_name, local_name) in DIALECTS.items():
        if rank_name not in env or size_name not in env:
            continue
        # MPICH names no local rank where a process is alone on its node.
        texts = (env[rank_name], env[size_name], env.get(local_name, "0"))
        if not all(text.isdigit() for text in texts) or int(texts[0]) >= int(texts[1]):
            raise ValueError(f"{launcher} gives {rank_name}={texts[0]} and {size_name}={texts[1]}; these make no rank")
        rank, world_size, local_rank = (int(text) for text in texts)
        return Place(rank=rank, world_size=world_size, local_rank=local_rank)
    return None


def adopt(env: MutableMapping[str, str] | None = None) -> Place:
    """Put the place into torch's variables and return it; a process without a launcher is rank 0 of 1.

    The rendezvous comes from ``ICEFIELD_MASTER_ADDR`` and ``ICEFIELD_MASTER_PORT`` where the launcher names none.
    """
    env = os.environ if env is None else env
    place = place_of(env) or Place(rank=0, world_size=1, local_rank=0)
    env["RANK"], env["WORLD_SIZE"], env["LOCAL_RANK"] = str(place.rank), str(place.world_size), str(place.local_rank)
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if name not in env and f"ICEFIELD_{name}" in env:
            env[name] = env[f"ICEFIELD_{name}"]
    return place
