"""Hugging Face's Trainer as it comes, but for what it tells of itself while it trains."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import Trainer, TrainingArguments

from icefield_train.batch_plan import BatchPlan
from icefield_train.config import TrainConfig
from icefield_train.journal import Journal
from icefield_train.meter import Meter
from icefield_train.objectives import Objective


def stock_arguments(config: TrainConfig, batches: BatchPlan, steps: int, world_size: int) -> TrainingArguments:
    """Return the arguments: those that make it the same job, and none that makes it faster.

    Checkpoints on the way are left out, which Icefield has none of either.
    """
    return TrainingArguments(
        output_dir=str(Path(config.run_dir) / "trainer"),
        per_device_train_batch_size=batches.global_batch_size // (world_size * batches.passes),
        gradient_accumulation_steps=batches.passes,
        num_train_epochs=config.epochs,
        max_steps=config.max_steps or -1,
        learning_rate=batches.learning_rate,
        weight_decay=config.weight_decay,
        warmup_steps=math.ceil(config.warmup_ratio * steps),
        seed=config.seed,
        use_cpu=True,
        ddp_backend="gloo",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


class StockTrainer(Trainer):
    """A Trainer that measures its steps; what it calculates, and in which order, is the library's."""

    def __init__(self, *, meter: Meter, journal: Journal, objective: Objective, **options: Any) -> None:
        self.meter, self._objective = meter, objective
        self.tokens = 0
        """Tokens of this rank's rows so far, padding left out."""
        self.losses: list[float] = []
        """Of each pass so far, its part of the mean loss of this rank's rows."""
        super().__init__(data_collator=self._collate, callbacks=[_Telling(self, journal)], **options)

    def _collate(self, rows: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
        if self.is_in_train:
            self.meter.clock.enter("data")
        batch = transformers.default_data_collator(rows)
        if self.is_in_train:
            self.meter.clock.enter("other")
        return batch

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Return the library's loss; see that the wait for other ranks is told apart from the backward pass."""
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
        if loss.requires_grad:
            # The library's own is scaled in ways that depend on kind and ranks.
            losses = self._objective.losses(outputs.logits.detach(), inputs["labels"])
            self.losses.append(float(losses.mean()) / self.args.gradient_accumulation_steps)
            if self.args.world_size > 1:
                self.meter.clock.communicate_after(loss)
        return (loss, outputs) if return_outputs else loss

    def training_step(self, model: Any, inputs: Any, *rest: Any, **options: Any) -> torch.Tensor:
        """Return the library's loss of a pass, and count what it has calculated."""
        self.meter.batch(*inputs["input_ids"].shape)
        self.tokens += int(inputs["attention_mask"].sum())
        self.meter.clock.enter("compute")
        loss = super().training_step(model, inputs, *rest, **options)
        # What follows, up to the end of the step, is the optimizer's.
        self.meter.clock.enter("compute")
        return loss


class _Telling(transformers.TrainerCallback):
    """Tells the journal of each step, and the meter where the training begins, ends and calculates nothing."""

    def __init__(self, trainer: StockTrainer, journal: Journal) -> None:
        self._trainer, self._journal = trainer, journal
        self._begun = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self._begun = time.perf_counter()
        self._trainer.meter.begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self._trainer.meter.clock.enter("other")
        seconds, step = time.perf_counter() - self._begun, state.global_step
        rows = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        self._journal.step(
            {
                "step": step,
                "steps": state.max_steps,
                "epoch": math.ceil(state.epoch),
                # Of this rank's rows: the library puts the ranks' losses together every 500 steps only.
                "loss": sum(self._trainer.losses[-args.gradient_accumulation_steps :]),
                "learning_rate": rest["lr_scheduler"].get_last_lr()[0],
                "samples_per_second": step * rows / seconds,
                "tokens_per_second": self._trainer.tokens * args.world_size / seconds,
                "eta_seconds": (state.max_steps - step) * seconds / step,
            }
        )

    def on_prediction_step(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self._journal.status.touch()

    def on_train_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self._trainer.meter.end()
