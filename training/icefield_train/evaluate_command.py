"""The ``evaluate`` command: metrics of a trained model on the dev rows, in one process."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from icefield_train.answering import load_answering
from icefield_train.answering_arguments import answering_parser
from icefield_train.doctor.findings import Findings
from icefield_train.glue import read_glue
from icefield_train.part import Rows
from icefield_train.showing import escaped
from icefield_train.staged_data import read_rows
from icefield_train.staged_task import StagedTask, read_task, task_from
from icefield_train.tasks import TASKS


def dev_rows(folder: Path, task_name: str = "") -> tuple[StagedTask, dict[str, Rows]]:
    """Return the task of a folder and its dev rows by split: a staged folder, or one with the files of a task of GLUE.

    Raises:
        ValueError: it is neither, or a row of it is malformed.
    """
    if task_name and not (folder / "task.json").is_file():
        task = TASKS[task_name]
        parts = read_glue(folder, task, "auto", Findings())
        about = {"kind": task.kind, "labels": task.labels, "metrics": task.metrics}
        dev = {name: part.rows for name, part in parts.items() if name.startswith("dev")}
        return task_from(about, str(folder)), dev
    staged = read_task(folder)
    return staged, {name: read_rows(folder / file) for name, file in staged.dev.items()}


def evaluate(
    model_dir: Path, data_dir: Path, *, batch_size: int, precision: str, task_name: str = ""
) -> dict[str, Any]:
    """Return the metrics of a model on the dev rows, beside those of the best answer without a model.

    Raises:
        ValueError: data or model can't be read, or do not belong together.
    """
    task, splits = dev_rows(data_dir, task_name)
    model = load_answering(model_dir, task, precision)
    # Imported here: bad folders are refused before libraries are loaded, which takes seconds.
    from icefield_train import metrics

    found = {}
    for name, rows in splits.items():
        answers = model.answers(rows, batch_size)
        baseline_name, baseline = metrics.baseline(task, answers.labels)
        found[name] = {
            **metrics.compute(task, answers.labels, answers.predicted, answers.loss),
            "loss": answers.loss,
            "baseline": baseline,
            "baseline_name": baseline_name,
            "dev_rows": len(rows),
            "evaluate_seconds": answers.seconds,
        }
    return {
        **next(iter(found.values())),
        **({"dev": found} if len(found) > 1 else {}),
        "precision": model.precision,
    }


def main(argv: Sequence[str]) -> int:
    """Run the command; a refusal is one line on standard error and exit code 2."""
    description = "Print the metrics of a trained model on the dev rows."
    parser = answering_parser("evaluate", description, data="staged data, or a folder with the task's own files")
    glue = [name for name, task in TASKS.items() if task.source == "glue"]
    parser.add_argument("--task", choices=glue, default="", help="whose own files --data has, where it is not staged")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args(argv)
    try:
        found = evaluate(
            arguments.model,
            arguments.data,
            batch_size=arguments.batch_size,
            precision=arguments.precision,
            task_name=arguments.task,
        )
    except ValueError as error:
        print(escaped(" ".join(str(error).split())), file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(found))
        return 0
    for name, scores in found.get("dev", {"dev": found}).items():
        print(f"{name:<17} {scores['dev_rows']} rows")
        for metric, value in scores["baseline"].items():
            print(f"{metric:<17} {scores[metric]:.4f}   ({scores['baseline_name']} {value:.4f})")
        print(f"{'loss':<17} {scores['loss']:.4f}")
    return 0
