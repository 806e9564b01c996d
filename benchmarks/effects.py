"""Side by side: what each part of the engine is worth alone, on one rank. Needs the stack.

    python -m benchmarks.effects --task mrpc --data-dir DIR [--ways stock_attention fp32] [--allocator LIBRARY]

Each way is the engine without one of its parts; ``plain`` is without any of them. All train on the same rows; a
figure is the CPU time of these rows over that of the engine as it is, step by step in turn, so that a machine that
others use as well slows all of them alike. What is exchanged between ranks is measured by ``benchmarks.hooks``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.hooks import job_parser, prepare

ENGINE = "engine"
OTHER_MALLOC = "libc_malloc"
# Name -> what it is without.
WAYS = {
    "stock_attention": "torch's attention",
    "stock_dropout": "torch's dropout",
    "stock_layers": "torch's attention and dropout",
    "separate_adamw": "AdamW of separate operations (foreach)",
    "no_grouping": "rows in order of chance, padded to the longest of a batch",
    "padded": "rows in order of chance, padded to 128 tokens",
    "fp32": "fp32",
    "token_budget": "batches of as many tokens, not as many rows",
    "plain": "all of it: fp32, padded, torch's layers and AdamW",
}
PADDED = 128
WARM_UP = 2


def token_batches(lengths: Sequence[int], *, rows: int) -> list[list[int]]:
    """Return batches of like length with as many tokens each, padding included, as ``rows`` rows have on average."""
    order = sorted(range(len(lengths)), key=lambda row: (lengths[row], row))
    budget = rows * statistics.mean(lengths)
    batches: list[list[int]] = [[]]
    for row in order:
        # The one that is added is the longest.
        if batches[-1] and (len(batches[-1]) + 1) * lengths[row] > budget:
            batches.append([])
        batches[-1].append(row)
    return batches


def rank(job: dict[str, Any]) -> None:
    """Measure the ways of ``job["ways"]`` in turn; write seconds of CPU time, by way and repeat."""
    import torch

    torch.set_num_threads(job["threads"])
    ways = {way: _trainer(way, job) for way in job["ways"]}
    found: dict[str, list[float]] = {way: [] for way in ways}
    for repeat in range(job["repeats"]):
        used = dict.fromkeys(ways, 0.0)
        steps = {way: list(range(len(batches))) for way, (_, batches) in ways.items()}
        turn = 0
        while any(steps.values()):
            # Another is first each time: what the one before leaves in the caches is nobody's advantage.
            names = list(ways)[turn % len(ways) :] + list(ways)[: turn % len(ways)]
            turn += 1
            for way in (name for name in names if steps[name]):
                step, batches = ways[way]
                number = steps[way].pop()
                for _ in range(WARM_UP if repeat == 0 and turn == 1 else 0):
                    step(batches[number])
                begun = time.process_time()
                step(batches[number])
                used[way] += time.process_time() - begun
        for way, seconds in used.items():
            found[way].append(seconds)
    Path(job["result"]).write_text(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)


def _trainer(way: str, job: dict[str, Any]) -> tuple[Callable[[list[int]], None], list[list[int]]]:
    """Return what trains on a batch of rows, and the batches."""
    import torch

    from icefield_train import loop
    from icefield_train.attention import use_attention
    from icefield_train.batches import epoch_batches
    from icefield_train.config import TrainConfig
    from icefield_train.data import load_rows
    from icefield_train.distributed import Dist
    from icefield_train.dropout import replace_dropout
    from icefield_train.model import fitting_rows, freeze_unused, new_model
    from icefield_train.staged_task import read_task

    task = read_task(Path(job["data"]))
    model, _ = new_model(job["model"], task, 1)
    rows = fitting_rows(model, load_rows(Path(job["tokens"]), task.kind.name))
    freeze_unused(model, rows)
    if way not in ("stock_attention", "stock_layers", "plain"):
        use_attention(model)
    if way not in ("stock_dropout", "stock_layers", "plain"):
        replace_dropout(model)
    model.train()
    lengths = rows.lengths[: job["batch"] * job["steps"]]
    if way == "token_budget":
        batches = token_batches(lengths, rows=job["batch"])
    else:
        grouped = way not in ("no_grouping", "padded", "plain")
        batches = epoch_batches(lengths, batch_size=job["batch"], seed=1, epoch=0, length_grouping=grouped)
    if way in ("padded", "plain"):
        rows = _padded(rows)
    precision = "fp32" if way in ("fp32", "plain") else job["precision"]
    optimizer = loop.new_optimizer(model, TrainConfig(), 5e-5)
    if way in ("separate_adamw", "plain"):
        optimizer = torch.optim.AdamW(optimizer.param_groups, lr=5e-5, fused=False, foreach=True)
        for group in optimizer.param_groups:
            group.update(fused=False, foreach=True)
    alone = Dist(rank=0, world_size=1)

    def step(batch: list[int]) -> None:
        loop.backward(model, rows, [batch], batch[0], len(batch), alone, precision)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step, batches


def _padded(rows: Any) -> Any:
    """Return rows of which each batch is padded to the same length."""
    import torch

    from icefield_train.data import EncodedRows

    class Padded(EncodedRows):
        def padded(self, name: str, rows: Sequence[int], value: int) -> Any:
            found = EncodedRows.padded(self, name, rows, value)
            return torch.nn.functional.pad(found, (0, max(0, PADDED - found.shape[1])), value=value)

    return Padded(**{name: getattr(rows, name) for name in ("kind", "tensors", "padding", "starts", "digest")})


def measure(ways: list[str], job: dict[str, Any], folder: Path, allocator: str) -> dict[str, list[float]]:
    """Return what a process of its own measures with this allocator; "" = libc's.

    Raises:
        SystemExit: it failed.
    """
    path, result = folder / "job.json", folder / "result.json"
    path.write_text(json.dumps({**job, "ways": ways, "result": str(result)}))
    env = {**os.environ, "LD_PRELOAD": allocator, "OMP_NUM_THREADS": str(job["threads"]), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.effects", "--job", str(path)]
    if code := subprocess.run(command, env=env, check=False).returncode:
        sys.exit(f"the measurement ended with exit code {code}")
    found: dict[str, list[float]] = json.loads(result.read_text())
    return found


def table(found: dict[str, list[float]], words: dict[str, str]) -> list[str]:
    """Return the rows of a Markdown table; times are compared within a repeat."""
    lines = ["| the engine, but with | CPU time of the same rows | spread |", "| --- | --- | --- |"]
    for way, seconds in found.items():
        if way == ENGINE:
            continue
        ratios = [one / other for one, other in zip(seconds, found[ENGINE], strict=True)]
        lines.append(f"| {words[way]} | {statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} |")
    return lines


def main() -> None:
    """Run the measurements that are asked for and print their table."""
    parser = job_parser("Measure what each part of the engine is worth.", steps=50, networks=False)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--allocator", default="", help="library to preload, as nodes do with tcmalloc (default: none)")
    arguments = parser.parse_args()
    if arguments.job:
        rank(json.loads(arguments.job.read_text()))
    job = prepare(arguments)
    found = measure([ENGINE, *arguments.ways], job, arguments.folder, arguments.allocator)
    words = dict(WAYS)
    if arguments.allocator:
        # Processes take turns, as ways do within one.
        pairs: dict[str, list[float]] = {ENGINE: [], OTHER_MALLOC: []}
        for _ in range(job["repeats"]):
            for name, library in ((ENGINE, arguments.allocator), (OTHER_MALLOC, "")):
                pairs[name] += measure([ENGINE], {**job, "repeats": 1}, arguments.folder, library)[ENGINE]
        ratios = [one / other for one, other in zip(pairs[OTHER_MALLOC], pairs[ENGINE], strict=True)]
        # Against the engine of its own turns.
        found[OTHER_MALLOC] = [ratio * seconds for ratio, seconds in zip(ratios, found[ENGINE], strict=True)]
        words[OTHER_MALLOC] = "libc's allocator"
    print(f"\n{job['precision']}, {job['batch']} rows, {job['steps']} batches, {job['threads']} thread(s)\n")
    print("\n".join(table(found, words)), flush=True)


if __name__ == "__main__":
    main()
