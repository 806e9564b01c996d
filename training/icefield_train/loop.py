"""The training loop: every global batch, one optimizer step."""

from __future__ import annotations

import functools
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import torch
from transformers import get_linear_schedule_with_warmup

from icefield_train import distributed, extensions
from icefield_train.batch_plan import plan_batches
from icefield_train.batches import deal, epoch_batches
from icefield_train.config import TrainConfig
from icefield_train.data import EncodedRows
from icefield_train.distributed import Dist
from icefield_train.embedding_rows import step_tokens
from icefield_train.failures import PeerError
from icefield_train.meter import Meter
from icefield_train.objectives import OBJECTIVES
from icefield_train.precision import calculating_in

# As in BERT's own fine-tuning; the norm is that of all ranks' averaged gradients, so it is the same on each.
_MAX_GRADIENT_NORM = 1.0
# Steps over which the speed is averaged: enough to even out batches of short and long rows.
_SPEED_STEPS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What one optimizer step did; sums and means are over the global batch."""

    step: int
    epoch: int
    loss: float
    learning_rate: float
    samples_per_second: float
    tokens_per_second: float
    eta_seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Trained:
    """What the whole training did."""

    steps: int
    samples: int
    tokens: int
    seconds: float
    final_loss: float
    """Mean loss of the last batches, as many as the speed is averaged over."""


def train(
    model: torch.nn.Module,
    rows: EncodedRows,
    config: TrainConfig,
    ranks: Dist,
    *,
    precision: str,
    steps: int,
    on_step: Callable[[Step], None],
    meter: Meter | None = None,
) -> Trained:
    """Train the model in place for ``steps`` steps; ``on_step`` is called after each, on every rank.

    ``meter`` measures it.

    Raises:
        FloatingPointError: the loss of this rank is not a number.
        PeerError: that of another rank is not; all ranks stop at the same step.
    """
    model.train()
    plan = plan_batches(config, ranks.world_size)
    model, optimizer = extensions.optimized(model, new_optimizer(model, config, plan.learning_rate))
    schedule = get_linear_schedule_with_warmup(optimizer, math.ceil(config.warmup_ratio * steps), steps)
    lengths, counts = rows.lengths, OBJECTIVES[rows.kind].counts(rows)
    meter = meter or Meter()
    meter.begin()
    begun = time.perf_counter()
    recent: deque[tuple[float, int, int, float]] = deque([(begun, 0, 0, 0.0)], maxlen=_SPEED_STEPS + 1)
    step = samples = tokens = 0
    for epoch in range(config.epochs):
        batches = epoch_batches(
            lengths,
            batch_size=plan.global_batch_size,
            seed=config.seed,
            epoch=epoch,
            length_grouping=config.length_grouping,
        )
        for batch in batches[: steps - step]:
            step += 1
            meter.clock.enter("data")
            mine = deal(batch, lengths, ranks.world_size)[ranks.rank]
            distributed.begin_step(model, functools.partial(step_tokens, rows, batch))
            # A batch of rows without a label has no loss, and nothing to divide by.
            counted = sum(counts[row] for row in batch) or 1
            local_loss = backward(model, rows, plan.split(mine), batch[0], counted, ranks, precision, meter)
            meter.clock.enter("communication")
            loss = agreed_loss(local_loss, counted, ranks, step)
            meter.clock.enter("compute")
            torch.nn.utils.clip_grad_norm_(model.parameters(), _MAX_GRADIENT_NORM)
            learning_rate = schedule.get_last_lr()[0]
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            meter.clock.enter("other")
            samples += len(batch)
            tokens += sum(lengths[row] for row in batch)
            now = time.perf_counter()
            recent.append((now, samples, tokens, loss))
            since, old_samples, old_tokens, _ = recent[0]
            on_step(
                Step(
                    step=step,
                    epoch=epoch + 1,
                    loss=loss,
                    learning_rate=learning_rate,
                    samples_per_second=(samples - old_samples) / (now - since),
                    tokens_per_second=(tokens - old_tokens) / (now - since),
                    eta_seconds=(steps - step) * (now - since) / (len(recent) - 1),
                )
            )
    meter.end()
    losses = [entry[3] for entry in list(recent)[1:]]
    return Trained(
        steps=step,
        samples=samples,
        tokens=tokens,
        seconds=time.perf_counter() - begun,
        final_loss=sum(losses) / len(losses),
    )


def new_optimizer(model: torch.nn.Module, config: TrainConfig, learning_rate: float) -> torch.optim.Optimizer:
    """Return AdamW; weight decay is for matrices, not for biases and layer norms."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in weights if weight.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [weight for weight in weights if weight.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, fused=True)


def backward(
    model: torch.nn.Module,
    rows: EncodedRows,
    passes: list[list[int]],
    idle: int,
    counted: int,
    ranks: Dist,
    precision: str,
    meter: Meter | None = None,
) -> float:
    """Add this rank's part to the gradients of the mean loss over the global batch; return the sum of its losses.

    DistributedDataParallel divides the sum over ranks by their number; the factor ``world_size`` takes that back, so
    that the gradients are those that one rank would get, however the rows were dealt. Only the last pass exchanges
    gradients, so that ranks may make different numbers of passes.

    Args:
        model: the model, as ``distributed.parallel`` returned it.
        rows: all rows.
        passes: this rank's rows, by pass.
        idle: the row that a rank without rows calculates and counts nothing of.
        counted: by how many the mean loss is divided: rows, or tokens, of the whole global batch.
        ranks: this process among the ranks.
        precision: "fp32" or "bf16".
        meter: measures it.
    """
    meter = meter or Meter()
    objective = OBJECTIVES[rows.kind]
    total = 0.0
    for number, part in enumerate(passes, start=1):
        # A rank without a row goes along: the others wait for its part in the all-reduce.
        picked = part or [idle]
        last = number == len(passes)
        meter.clock.enter("data")
        inputs, labels = rows.inputs(picked), objective.labels(rows, picked)
        meter.batch(*inputs["input_ids"].shape)
        meter.clock.enter("compute")
        with distributed.exchange(model, last=last):
            with calculating_in(precision):
                logits = model(**inputs).logits
            loss_sum = objective.losses(logits, labels).sum()
            if not part:
                loss_sum = loss_sum * 0.0
            if last and ranks.world_size > 1:
                meter.clock.communicate_after(loss_sum)
            (loss_sum * (ranks.world_size / counted)).backward()
        meter.clock.enter("compute")
        total += float(loss_sum.detach())
    return total


def agreed_loss(local_loss: float, counted: int, ranks: Dist, step: int) -> float:
    """Return the mean loss over the global batch from each rank's sum.

    Raises:
        FloatingPointError, PeerError: see ``train``.
    """
    bad = not math.isfinite(local_loss)
    loss_sum, num_bad = distributed.sum_over_ranks(ranks, [local_loss, float(bad)])
    if bad:
        raise FloatingPointError(
            f"the loss is {local_loss} at step {step}, not a number; lower learning_rate, or set precision=fp32"
        )
    if num_bad:
        raise PeerError(f"the loss of {num_bad:.0f} other rank(s) is not a number at step {step}")
    return loss_sum / counted
