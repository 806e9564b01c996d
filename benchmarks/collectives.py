"""All-reduce by size over gloo and over oneCCL, between network namespaces. Needs root, torch and oneCCL.

    PYTHONPATH=.:training/native python -m benchmarks.collectives [--ranks 2 4] [--mbit 0 1000]

Both backends take turns within the same processes, so that what else the machine does meets both alike. Printed are
medians in milliseconds and gloo's time / oneCCL's time: above 1, oneCCL is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.namespaces import INTERFACE, namespaces
from benchmarks.ranks import end_cleanly, run_ranks

KB, MB = 1024, 1024 * 1024
SIZES = (4 * KB, 64 * KB, 256 * KB, MB, 4 * MB, 25 * MB, 90 * MB)


def rank(job: dict[str, Any]) -> None:
    """Be one rank: measure each size in turns of both backends; rank 0 writes the times in milliseconds by size."""
    import torch
    import torch.distributed as dist

    import icefield_ccl

    torch.set_num_threads(job["threads"])
    icefield_ccl.register(interface=INTERFACE)
    timeout = timedelta(seconds=120)
    dist.init_process_group("gloo", rank=job["rank"], world_size=job["ranks"], timeout=timeout)
    groups = {"gloo": dist.group.WORLD, "ccl": dist.new_group(backend="ccl", timeout=timeout)}
    found = {size: _times(groups, torch.ones(size // 4), size) for size in SIZES}
    if job["rank"] == 0:
        Path(job["result"]).write_text(json.dumps(found))
    dist.barrier(group=groups["gloo"])
    sys.stdout.flush()
    os._exit(0)


def _times(groups: dict[str, Any], tensor: Any, size: int) -> dict[str, list[float]]:
    import torch.distributed as dist

    # Some 3 s for each size on a machine that moves 1 GB/s.
    rounds, calls = (15, 20) if size <= MB else (9, 3)
    times: dict[str, list[float]] = {name: [] for name in groups}
    for number in range(rounds + 1):
        for name, group in groups.items():
            dist.barrier(group=group)
            begun = time.perf_counter()
            for _ in range(calls):
                dist.all_reduce(tensor, group=group)
            # The first makes the connections.
            if number:
                times[name].append((time.perf_counter() - begun) / calls * 1000)
            tensor.fill_(1)
    return times


def table(found: dict[str, dict[str, list[float]]]) -> list[str]:
    """Return the rows of a Markdown table from the times in milliseconds by size in bytes and backend."""
    lines = ["| size | gloo, ms | oneCCL, ms | gloo / oneCCL |", "| --- | --- | --- | --- |"]
    for size, times in found.items():
        gloo, ccl = statistics.median(times["gloo"]), statistics.median(times["ccl"])
        label = f"{int(size) // MB} MB" if int(size) >= MB else f"{int(size) // KB} KB"
        lines.append(f"| {label} | {gloo:.3f} | {ccl:.3f} | {gloo / ccl:.2f} |")
    return lines


def main() -> None:
    """Run the measurements that are asked for and print a table of each."""
    parser = argparse.ArgumentParser(description="Compare gloo and oneCCL.")
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--mbit", type=int, nargs="+", default=[0, 1000], help="Mbit/s of each link (0 = no limit)")
    parser.add_argument("--folder", type=Path, default=Path(".cache/benchmarks"), help="folder to work in")
    arguments = parser.parse_args()
    if arguments.job:
        rank(json.loads(arguments.job.read_text()))
    end_cleanly()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for count in arguments.ranks:
        with namespaces(count) as nodes:
            for mbit in arguments.mbit:
                for node in nodes:
                    node.limit(mbit * 1e6)
                found = run_ranks(nodes, "benchmarks.collectives", {"threads": 1}, arguments.folder.resolve())
                print(f"\n{count} ranks, {f'{mbit} Mbit/s' if mbit else 'no limit'}\n")
                print("\n".join(table(found)), flush=True)


if __name__ == "__main__":
    main()
