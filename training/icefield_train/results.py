"""The results of a run as they are written: metrics.json and environment.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from icefield_train import metrics
from icefield_train.check import num_epochs
from icefield_train.config import TrainConfig
from icefield_train.evaluate import Predictions
from icefield_train.loop import Trained
from icefield_train.machine import versions


@dataclass(frozen=True, kw_only=True, slots=True)
class Results:
    """What rank 0 knows when a run has been evaluated."""

    config: TrainConfig
    machines: list[dict[str, Any]]
    """Facts of each rank's machine."""
    precision: str
    trained: Trained
    predictions: Predictions
    train_rows: int
    metrics: list[str]
    """Names of the task's metrics."""

    def scores(self) -> dict[str, float]:
        """Return the task's metrics and the mean loss on the dev rows."""
        found = metrics.compute(self.metrics, self.predictions.labels, self.predictions.predicted)
        return {**found, "loss": self.predictions.loss}

    def to_dict(self, *, wall_seconds: float) -> dict[str, Any]:
        """Return the content of metrics.json."""
        trained = self.trained
        return {
            **self.scores(),
            "majority": metrics.majority(self.metrics, self.predictions.labels),
            "dev_rows": len(self.predictions.labels),
            "train_rows": self.train_rows,
            "steps": trained.steps,
            "epochs": num_epochs(self.config, self.train_rows, trained.steps),
            "seed": self.config.seed,
            "precision": self.precision,
            "global_batch_size": self.config.global_batch_size,
            "world_size": len(self.machines),
            "nodes": len({machine["host"] for machine in self.machines}),
            "samples_per_second": trained.samples / trained.seconds,
            "tokens_per_second": trained.tokens / trained.seconds,
            "train_seconds": trained.seconds,
            "evaluate_seconds": self.predictions.seconds,
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
