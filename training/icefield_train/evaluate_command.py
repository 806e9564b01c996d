"""The ``evaluate`` command: metrics of a trained model on the dev rows, in one process."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from icefield_train.arguments import Parser
from icefield_train.config import PRECISIONS
from icefield_train.doctor.findings import Findings
from icefield_train.glue import read_glue
from icefield_train.part import Rows
from icefield_train.rules import refusal
from icefield_train.staged_data import read_about, read_rows
from icefield_train.tasks import TASKS


def dev_rows(folder: Path, task_name: str = "") -> tuple[Rows, Sequence[str], Sequence[str]]:
    """Return dev rows, labels' names and metrics' names of a staged folder, or of one with the files of a task of GLUE.

    Raises:
        ValueError: it is neither, or a row of it is malformed.
    """
    if task_name and not (folder / "task.json").is_file():
        task = TASKS[task_name]
        return read_glue(folder, task, "auto", Findings())["dev"].rows, task.labels, task.metrics
    about = read_about(folder)
    return read_rows(folder / "dev.jsonl"), about["labels"], about["metrics"]


def evaluate(model_dir: Path, data_dir: Path, *, batch_size: int, precision: str, task: str = "") -> dict[str, Any]:
    """Return the metrics of a model on the dev rows, beside those of the majority class.

    Raises:
        ValueError: data or model can't be read, or do not belong together.
    """
    rows, labels, names = dev_rows(data_dir, task)
    if not (model_dir / "config.json").is_file():
        raise ValueError(refusal("model", model_dir, "a folder with a trained model"))
    # Imported here: bad folders are refused before torch is loaded, which takes seconds.
    from icefield_train import metrics
    from icefield_train.data import encode
    from icefield_train.distributed import Dist
    from icefield_train.evaluate import predict
    from icefield_train.machine import machine_facts
    from icefield_train.model import load_tokenizer, silence_transformers, trained_classifier
    from icefield_train.precision import agreed_precision

    silence_transformers()
    try:
        tokenizer, model = load_tokenizer(model_dir), trained_classifier(model_dir)
    except OSError as error:
        raise ValueError(refusal("model", model_dir, f"a folder with a trained model ({error})")) from None
    names_of_model = [model.config.id2label[index] for index in range(model.config.num_labels)]
    if names_of_model != list(labels):
        words = f"a model with the labels {', '.join(labels)}; it has {', '.join(names_of_model)}"
        raise ValueError(refusal("model", model_dir, words))
    precision = agreed_precision(precision, [machine_facts("", 1)["isa"]])
    encoded = encode(rows, tokenizer, tokenizer.model_max_length)
    found = predict(model, encoded, Dist(rank=0, world_size=1), precision=precision, batch_size=batch_size)
    return {
        **metrics.compute(names, found.labels, found.predicted),
        "loss": found.loss,
        "majority": metrics.majority(names, found.labels),
        "dev_rows": len(encoded),
        "precision": precision,
        "evaluate_seconds": found.seconds,
    }


def main(argv: Sequence[str]) -> int:
    """Run the command; a refusal is one line on standard error and exit code 2."""
    parser = Parser(prog="evaluate", description="Print the metrics of a trained model on the dev rows.")
    parser.add_argument("--model", type=Path, required=True, help="folder of the trained model")
    parser.add_argument("--data", type=Path, required=True, help="staged data, or a folder with the task's own files")
    glue = [name for name, task in TASKS.items() if task.source == "glue"]
    parser.add_argument("--task", choices=glue, default="", help="whose own files --data has, where it is not staged")
    parser.add_argument("--batch-size", type=int, default=32, help="rows per forward pass (default: 32)")
    parser.add_argument("--precision", choices=PRECISIONS, default="auto", help="default: auto")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args(argv)
    if arguments.batch_size < 1:
        parser.error(refusal("batch-size", arguments.batch_size, "a whole number of at least 1"))
    try:
        found = evaluate(
            arguments.model,
            arguments.data,
            batch_size=arguments.batch_size,
            precision=arguments.precision,
            task=arguments.task,
        )
    except ValueError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(found))
        return 0
    for name, value in found["majority"].items():
        print(f"{name:<9} {found[name]:.4f}   (majority class {value:.4f})")
    print(f"{'loss':<9} {found['loss']:.4f}")
    print(f"{'dev rows':<9} {found['dev_rows']}")
    return 0
