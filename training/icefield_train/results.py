"""The results of a run as they are written: metrics.json and environment.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from icefield_train import metrics
from icefield_train.batch_plan import BatchPlan
from icefield_train.check import num_epochs
from icefield_train.config import TrainConfig
from icefield_train.evaluate import Predictions
from icefield_train.loop import Trained
from icefield_train.machine import versions
from icefield_train.staged_task import StagedTask


@dataclass(frozen=True, kw_only=True, slots=True)
class Results:
    """What rank 0 knows when a run has been evaluated."""

    config: TrainConfig
    task: StagedTask
    machines: list[dict[str, Any]]
    """Facts of each rank's machine."""
    precision: str
    batches: BatchPlan
    trained: Trained
    exchange: dict[str, Any]
    """How gradients were exchanged, and the bytes of them that a rank sends per step, on the average of all steps."""
    predictions: dict[str, Predictions]
    """By the name of the dev split, the main one first."""
    train_rows: int

    def scores(self, split: str) -> dict[str, float]:
        """Return the task's metrics and the mean loss on a dev split."""
        found = self.predictions[split]
        return {**metrics.compute(self.task, found.labels, found.predicted, found.loss), "loss": found.loss}

    def split(self, name: str) -> dict[str, Any]:
        """Return what metrics.json tells of a dev split."""
        truth = self.predictions[name].labels
        answer, scores = metrics.baseline(self.task, truth)
        return {**self.scores(name), "baseline": scores, "baseline_name": answer, "dev_rows": len(truth)}

    def to_dict(self, *, job_seconds: float, wall_seconds: float, measured: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of metrics.json.

        Args:
            job_seconds: from the launch of the ranks until the metrics were there.
            wall_seconds: from the launch of the ranks until all results are written.
            measured: what ``meter.combined`` made of the ranks' measurements.
        """
        trained = self.trained
        splits = {name: self.split(name) for name in self.predictions}
        return {
            # The main split's, by which a model is judged.
            **next(iter(splits.values())),
            **({"dev": splits} if len(splits) > 1 else {}),
            "kind": self.task.kind.name,
            "recipe": self.config.recipe,
            "train_rows": self.train_rows,
            "steps": trained.steps,
            "epochs": num_epochs(self.config, self.train_rows, trained.steps, len(self.machines)),
            "seed": self.config.seed,
            "precision": self.precision,
            "global_batch_size": self.batches.global_batch_size,
            "passes": self.batches.passes,
            "learning_rate": self.batches.learning_rate,
            "world_size": len(self.machines),
            "nodes": len({machine["host"] for machine in self.machines}),
            **self.exchange,
            **measured,
            "samples": trained.samples,
            "tokens": trained.tokens,
            "samples_per_second": trained.samples / trained.seconds,
            "tokens_per_second": trained.tokens / trained.seconds,
            "train_seconds": trained.seconds,
            "evaluate_seconds": sum(found.seconds for found in self.predictions.values()),
            "job_seconds": job_seconds,
            "job_samples_per_second": trained.samples / job_seconds,
            "job_tokens_per_second": trained.tokens / job_seconds,
            "wall_seconds": wall_seconds,
            "final_train_loss": trained.final_loss,
        }


def environment(config: TrainConfig, machines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the content of environment.json."""
    return {
        "versions": versions(),
        "hosts": machines,
        "seed": config.seed,
        "git_commit": config.git_commit,
        "command": config.command,
        "data": {"task": config.task, "digest": config.data_digest},
        "model": {"name": config.model_name or config.model, "digest": config.model_digest},
    }
