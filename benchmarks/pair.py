"""What a pair of ranks can exchange: bytes per second, time of a message, processor time of a byte."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.namespaces import Namespace
from benchmarks.ranks import run_ranks
from benchmarks.scaling_model import MIB, Pair, ring_bytes

SMALL_CALLS = 100


def measure_pair(nodes: list[Namespace], layer_bytes: float, job: dict[str, Any], folder: Path) -> Pair:
    """Measure an all-reduce of the layers' gradients between two nodes, in buckets and with nothing beside it.

    Raises:
        SystemExit: a rank failed.
    """
    found = run_ranks(nodes[:2], "benchmarks.pair", {**job, "bytes": int(layer_bytes)}, folder)
    sent = ring_bytes(layer_bytes, 2)
    return Pair(
        bytes_per_second=sent / found["seconds"],
        message_seconds=found["small"] / 2,
        core_seconds_per_byte=found["core_seconds"] / sent,
    )


def _rank(job: dict[str, Any]) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(job["threads"])
    dist.init_process_group("gloo", rank=job["rank"], world_size=job["ranks"])
    bucket = int(job["bucket_mb"] * MIB) // 4
    tensors = list(torch.ones(job["bytes"] // 4).split(bucket))
    walls, works = [], []
    for number in range(job["repeats"] + 1):
        dist.barrier()
        begun, used = time.perf_counter(), time.process_time()
        for handle in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
            handle.wait()
        # The first makes the connections.
        if number:
            walls.append(time.perf_counter() - begun)
            works.append(time.process_time() - used)
    small = torch.ones(1)
    dist.barrier()
    begun = time.perf_counter()
    for _ in range(SMALL_CALLS):
        dist.all_reduce(small)
    each = (time.perf_counter() - begun) / SMALL_CALLS
    if job["rank"] == 0:
        figures = {"seconds": statistics.median(walls), "core_seconds": statistics.median(works), "small": each}
        Path(job["result"]).write_text(json.dumps(figures))
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Be one rank of a pair.")
    parser.add_argument("--job", type=Path, required=True)
    _rank(json.loads(parser.parse_args().job.read_text()))
