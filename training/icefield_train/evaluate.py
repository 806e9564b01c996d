"""Predictions of a model on rows, each row once, on any number of ranks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from icefield_train import distributed
from icefield_train.data import EncodedRows
from icefield_train.distributed import Dist
from icefield_train.precision import calculating_in

BATCH_SIZE = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class Predictions:
    """Predicted labels of all rows, in their order; the mean loss per row; the time that it took."""

    labels: list[int]
    predicted: list[int]
    loss: float
    seconds: float


def predict(
    model: torch.nn.Module,
    rows: EncodedRows,
    ranks: Dist,
    *,
    precision: str,
    batch_size: int = BATCH_SIZE,
    on_batch: Callable[[], None] = lambda: None,
) -> Predictions:
    """Share the rows among the ranks, predict, and return the predictions of all on each rank.

    Args:
        model: a classifier; not as DistributedDataParallel wraps it, which would wait for ranks that have no row.
        rows: rows to predict.
        ranks: this process among the ranks.
        precision: "fp32" or "bf16".
        batch_size: rows per forward pass.
        on_batch: called after each of them.
    """
    # By length before they are shared out: batches of like length need little padding, and each rank gets some of all.
    lengths = rows.lengths
    order = sorted(range(len(rows)), key=lambda row: (lengths[row], row))
    mine = order[ranks.rank :: ranks.world_size]
    begun = time.perf_counter()
    model.eval()
    found: list[tuple[int, int, float]] = []
    for start in range(0, len(mine), batch_size):
        part = mine[start : start + batch_size]
        found += zip(part, *_predict_batch(model, rows.batch(part), precision), strict=True)
        on_batch()
    shares = distributed.gather_from_ranks(ranks, found)
    by_row = {row: (label, loss) for share in shares for row, label, loss in share}
    assert len(by_row) == sum(map(len, shares)) == len(rows), "a row was not predicted exactly once"
    return Predictions(
        labels=rows.labels.tolist(),
        predicted=[by_row[row][0] for row in range(len(rows))],
        loss=sum(by_row[row][1] for row in range(len(rows))) / len(rows),
        seconds=time.perf_counter() - begun,
    )


@torch.no_grad()
def _predict_batch(
    model: torch.nn.Module, batch: dict[str, torch.Tensor], precision: str
) -> tuple[list[int], list[float]]:
    labels = batch.pop("labels")
    with calculating_in(precision):
        logits = model(**batch).logits.float()
    losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    return logits.argmax(dim=-1).tolist(), losses.tolist()
