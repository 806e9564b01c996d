"""Answers of a model to rows, each row once, the same on any number of ranks."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from icefield_train import distributed
from icefield_train.data import EncodedRows
from icefield_train.distributed import Dist
from icefield_train.heads import output_layer
from icefield_train.kinds import KINDS
from icefield_train.objectives import OBJECTIVES
from icefield_train.precision import calculating_in, in_fp32


@dataclass(frozen=True, kw_only=True, slots=True)
class Predictions:
    """What a model answers to all rows, in their order; the mean loss; the time that it took."""

    labels: list[Any]
    """What the answers should be, in the form of ``objectives``; None for a row without a label."""
    predicted: list[Any]
    loss: float
    """Mean over rows, or over the tokens with a label; not a number where no row has one."""
    seconds: float


def predict(
    model: torch.nn.Module,
    rows: EncodedRows,
    ranks: Dist,
    *,
    precision: str,
    batch_size: int = 0,
    on_batch: Callable[[], None] = lambda: None,
) -> Predictions:
    """Share the rows among the ranks, predict, and return the predictions of all on each rank.

    The batches are the same on any number of ranks: a row is calculated beside the same rows, with the same padding,
    and comes out the same to the last digit on equal machines.

    Args:
        model: not as DistributedDataParallel wraps it, which would wait for ranks that have no row.
        rows: rows to predict.
        ranks: this process among the ranks.
        precision: "fp32" or "bf16".
        batch_size: rows per forward pass; 0 = the kind's own.
        on_batch: called after each of them.

    Raises:
        ValueError: an answer is not a number.
    """
    # By length: batches of like length need little padding, and taking turns gives each rank some of all.
    lengths = rows.lengths
    order = sorted(range(len(rows)), key=lambda row: (lengths[row], row))
    size = batch_size or KINDS[rows.kind].evaluate_rows
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    begun = time.perf_counter()
    model.eval()
    found: list[tuple[int, Any, float]] = []
    for batch in batches[ranks.rank :: ranks.world_size]:
        found += zip(batch, *_predict_batch(model, rows, batch, precision), strict=True)
        on_batch()
    shares = distributed.gather_from_ranks(ranks, found)
    by_row = {row: (answer, loss) for share in shares for row, answer, loss in share}
    assert len(by_row) == sum(map(len, shares)) == len(rows), "a row was not predicted exactly once"
    objective = OBJECTIVES[rows.kind]
    counted = sum(objective.counts(rows))
    return Predictions(
        labels=objective.truth(rows),
        predicted=[by_row[row][0] for row in range(len(rows))],
        loss=sum(by_row[row][1] for row in range(len(rows))) / counted if counted else float("nan"),
        seconds=time.perf_counter() - begun,
    )


@torch.no_grad()
def _predict_batch(
    model: torch.nn.Module, rows: EncodedRows, picked: list[int], precision: str
) -> tuple[list[Any], list[float]]:
    objective = OBJECTIVES[rows.kind]
    # Where answers are numbers, their digits count; of a class, only which output is the greatest.
    digits = in_fp32(output_layer(model)) if rows.kind == "regression" else contextlib.nullcontext()
    with calculating_in(precision), digits:
        logits = model(**rows.inputs(picked)).logits
    if logits.isnan().any():
        raise ValueError(
            "what the model answers is not a number: its training diverged (a smaller learning_rate may help), or its "
            "weights are damaged"
        )
    losses = objective.losses(logits, objective.labels(rows, picked))
    return objective.answers(rows, picked, logits), losses.tolist()
