"""Speed-up by number of nodes: calculated from a pair of nodes, compared with 4 ranks, and on paper up to 64 nodes.

    python -m benchmarks.scaling --task mrpc --data-dir DIR [--share 0 0.15 1.5] [--gbit 25 100]

Ranks are processes behind a network of a rate that is set, as in ``benchmarks.hooks``. From one rank comes the step
without exchange; from two ranks what a pair can exchange and how much of that the backward pass hides; four ranks are
only compared with what was calculated. Needs root and the stack.
"""

from __future__ import annotations

import dataclasses
import os
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks import hooks
from benchmarks.namespaces import namespaces
from benchmarks.pair import measure_pair
from benchmarks.ranks import end_cleanly
from benchmarks.scaling_model import Pair, Work, hidden_share, ring_bytes, slowest, speed_up

DENSE, ROWS = "fp32, dense @ 5", "fp32, rows @ 5"
CHECKED = 4
# BERT-base and the step of the article: 25 Gbit/s between servers of 32 cores.
BERT_BYTES, BERT_WIDTH, BERT_WORDS, ARTICLE_SECONDS, ARTICLE_CORES = 432e6, 768, 30522, 1.35, 32
ON_PAPER = (1, 2, 4, 8, 16, 32, 64)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """The rows of the word embeddings that a step touches."""

    width: int
    words: int
    touched: dict[int, float]
    """Number of ranks -> mean of the rows that all of them touch together."""

    def sent(self, ranks: int, way: str) -> float:
        """Return the bytes of the rows that are exchanged one by one."""
        return 4.0 * self.width * self.touched[ranks] if way == ROWS else 0.0

    def layers(self, whole: float, way: str) -> float:
        """Return the bytes of all other gradients, of ``whole`` bytes."""
        return whole - 4.0 * self.width * self.words if way == ROWS else whole


def touched_rows(job: dict[str, Any]) -> Rows:
    """Count the rows that a step touches, over an epoch of each number of ranks."""
    from transformers import AutoConfig

    from icefield_train.batches import epoch_batches
    from icefield_train.data import load_rows
    from icefield_train.embedding_rows import step_tokens

    model = AutoConfig.from_pretrained(job["model"])
    rows = load_rows(Path(job["tokens"]), "classification")
    touched = {}
    for ranks in ON_PAPER:
        size = min(job["batch"] * ranks, len(rows))
        batches = epoch_batches(rows.lengths, batch_size=size, seed=1, epoch=0, length_grouping=True)
        touched[ranks] = statistics.mean(len(step_tokens(rows, batch)) for batch in batches if len(batch) == size)
    return Rows(width=model.hidden_size, words=model.vocab_size, touched=touched)


def check(rate: float, job: dict[str, Any], rows: Rows, pair: Pair, folder: Path) -> list[str]:
    """Return the lines that compare four ranks with what was calculated, on a network of so many bits per second."""
    with namespaces(CHECKED) as nodes:
        for node in nodes:
            node.limit(rate)
        found = hooks.run(nodes, [hooks.ALONE, DENSE, ROWS], job, folder)
    network = f"{rate / 1e6:.0f} Mbit/s" if rate else "no limit"
    lines = []
    for way in (DENSE, ROWS):
        ratio = _ratio(found, way)
        work = _work(found, CHECKED, job, rows, way)
        speed = CHECKED / ratio
        wanted = speed_up(work, pair, CHECKED, rows.sent(CHECKED, way))
        lines.append(f"| {network} | {way} | {speed:.2f} | {wanted:.2f} | {100 * (wanted / speed - 1):+.0f} % |")
    return lines


def _ratio(found: hooks.Found, way: str) -> float:
    pairs = zip(found[way], found[hooks.ALONE], strict=True)
    return statistics.median(row["seconds"] / alone["seconds"] for row, alone in pairs)


def _work(found: hooks.Found, ranks: int, job: dict[str, Any], rows: Rows, way: str) -> Work:
    alone = found[hooks.ALONE]
    return Work(
        seconds=statistics.median(row["seconds"] for row in alone),
        cores=min(job["threads"], (os.cpu_count() or 1) / ranks),
        layer_bytes=rows.layers(4.0 * alone[0]["parameters"], way),
    )


def calibrate(share: float, job: dict[str, Any], rows: Rows, folder: Path) -> tuple[float, Pair, Pair]:
    """Measure two ranks; return the bits per second of that share, and the pair there and without a limit.

    Raises:
        ValueError: the share is too small to tell what is hidden.
    """
    with namespaces(2) as nodes:
        found = hooks.run(nodes, [hooks.ALONE], job, folder)
        work = _work(found, 2, job, rows, DENSE)
        free = measure_pair(nodes, work.layer_bytes, job, folder)
        rate = 8 * ring_bytes(work.layer_bytes, 2) / (share * work.seconds)
        for node in nodes:
            node.limit(rate)
        slow = dataclasses.replace(
            measure_pair(nodes, work.layer_bytes, job, folder), core_seconds_per_byte=free.core_seconds_per_byte
        )
        found = hooks.run(nodes, [hooks.ALONE, hooks.IN_STEP, DENSE], job, folder)
    work = _work(found, 2, job, rows, DENSE)
    spread = max(0.0, _ratio(found, hooks.IN_STEP) - 1) / slowest(2)
    slow = dataclasses.replace(slow, spread=spread)
    hidden = hidden_share(work, slow, 2, 0.0, work.seconds * _ratio(found, DENSE))
    return rate, dataclasses.replace(slow, hidden=hidden), dataclasses.replace(free, hidden=hidden, spread=spread)


def on_paper(gbit: list[float], touched: Rows, pair: Pair) -> list[str]:
    """Return the lines of BERT-base on the article's servers, by number of nodes, over networks of so many Gbit/s."""
    bert = Rows(width=BERT_WIDTH, words=BERT_WORDS, touched=touched.touched)
    ways = [(rate, way) for rate in gbit for way in (DENSE, ROWS)]
    names = [f"{rate:g} Gbit/s, {way.partition(' @')[0]}" for rate, way in ways]
    lines = [f"| nodes | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|"]
    for ranks in ON_PAPER:
        cells = []
        for rate, way in ways:
            layers = bert.layers(BERT_BYTES, way)
            work = Work(seconds=ARTICLE_SECONDS, cores=ARTICLE_CORES, layer_bytes=layers)
            there = dataclasses.replace(pair, bytes_per_second=rate * 1e9 / 8)
            cells.append(f"{speed_up(work, there, ranks, bert.sent(ranks, way)):.1f}")
        lines.append(f"| {ranks} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Measure, compare and print."""
    parser = hooks.job_parser("Calculate and check the speed-up by number of nodes.", steps=4)
    parser.add_argument("--gbit", type=float, nargs="+", default=[25, 100], help="networks on paper, Gbit/s")
    arguments = parser.parse_args()
    end_cleanly()
    job = {**hooks.prepare(arguments), "bucket_mb": 5}
    rows = touched_rows(job)
    try:
        rate, slow, free = calibrate(max(arguments.share), job, rows, arguments.folder)
    except ValueError as error:
        sys.exit(f"--share {max(arguments.share):g}: {error}")
    print(
        f"pair: {8e-9 * free.bytes_per_second:.1f} Gbit/s without limit, {8e-9 * slow.bytes_per_second:.2f} at "
        f"{1e-9 * rate:.2f} Gbit/s; {1e6 * free.message_seconds:.0f} us per message; "
        f"{1e9 * free.core_seconds_per_byte:.2f} core-seconds per GB; {100 * slow.hidden:.0f} % of a step hide it; "
        f"calculation varies by {100 * slow.spread:.0f} % between ranks"
    )
    touched = ", ".join(f"{ranks}: {number:.0f}" for ranks, number in rows.touched.items())
    print(f"rows of word embeddings that a step touches, by ranks: {touched}\n")
    print("| network | exchange | speed-up of 4 ranks | calculated | error |\n| --- | --- | --- | --- | --- |")
    for share in arguments.share:
        faster = max(arguments.share) / share if share else 0.0
        speed = min(free.bytes_per_second, slow.bytes_per_second * faster)
        pair = dataclasses.replace(slow, bytes_per_second=speed) if share else free
        print("\n".join(check(rate * faster, job, rows, pair, arguments.folder)), flush=True)
    print("\nBERT-base, a step of 1.35 s on 32 cores:\n")
    print("\n".join(on_paper(arguments.gbit, rows, free)))


if __name__ == "__main__":
    main()
