"""Ranks that stay up over many examples: making a group costs a second, an example a millisecond."""

from __future__ import annotations

import os
import socket
import traceback
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

TIMEOUT = 30


class Pool:
    """Ranks as processes of this machine. Each has a group of both backends over the same ranks."""

    def __init__(self, size):
        self.size = size
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        context = torch.multiprocessing.get_context("spawn")
        self.pipes, self.processes = [], []
        for rank in range(size):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(rank, size, port, there), daemon=True)
            process.start()
            self.pipes.append(here)
            self.processes.append(process)

    def run(self, scenario, *arguments) -> list[Any]:
        """Return what a function of a module, called with both groups, returns on each rank."""
        for pipe in self.pipes:
            pipe.send((scenario, arguments))
        answers = []
        for rank, pipe in enumerate(self.pipes):
            assert pipe.poll(2 * TIMEOUT), f"rank {rank} does not answer"
            kind, value = pipe.recv()
            assert kind == "done", value
            answers.append(value)
        return answers

    def close(self):
        for pipe in self.pipes:
            pipe.send(None)
        for process in self.processes:
            process.join(TIMEOUT)
            code = process.exitcode
            process.kill()
            assert code == 0, f"a rank ended with {code}"


def _serve(rank, size, port, pipe):
    import icefield_ccl

    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    icefield_ccl.register()
    timeout = timedelta(seconds=TIMEOUT)
    dist.init_process_group("ccl", rank=rank, world_size=size, timeout=timeout)
    groups = {"ccl": dist.group.WORLD, "gloo": dist.new_group(backend="gloo", timeout=timeout)}
    while (task := pipe.recv()) is not None:
        scenario, arguments = task
        try:
            pipe.send(("done", scenario(groups, *arguments)))
        except Exception:
            pipe.send(("failed", traceback.format_exc()))
    dist.destroy_process_group()
    pipe.send(("done", None))
