"""Ranks as processes of this machine, which meet on the loopback interface."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any, NoReturn

import torch

from icefield_train import distributed
from icefield_train.distributed import Dist
from icefield_train.launch_env import Place
from icefield_train.train import leave


def run_ranks(world_size: int, scenario: Callable[[Dist], Any]) -> list[Any]:
    """Return what a function of a module returns on each rank of a process group."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    context = torch.multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    processes = [
        context.Process(target=_rank, args=(rank, world_size, port, scenario, results)) for rank in range(world_size)
    ]
    for process in processes:
        process.start()
    # Read before they end: a full pipe would hold them up.
    found = {}
    while len(found) < world_size and all(process.exitcode in (None, 0) for process in processes):
        if not results.empty():
            rank, value = results.get()
            found[rank] = value
        processes[0].join(0.05)
    for process in processes:
        process.join(60)
        process.kill()
    assert [process.exitcode for process in processes] == [0] * world_size
    return [found[rank] for rank in range(world_size)]


def _rank(rank: int, world_size: int, port: int, scenario: Callable[[Dist], Any], results: Any) -> NoReturn:
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    ranks = distributed.start(Place(rank=rank, world_size=world_size, local_rank=rank), 60)
    value = scenario(ranks)
    distributed.stop(ranks)
    results.put((rank, value))
    leave(0)
