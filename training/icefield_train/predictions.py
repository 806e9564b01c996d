"""Predictions as files: a line for each row, in the form of GLUE's submissions (``index<TAB>prediction``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from icefield_train.staged_task import StagedTask
from icefield_train.status import write_text
from icefield_train.tasks import TASKS

FOLDER = "predictions"
HEADER = "index\tprediction"
# Stands for the tag of a word behind max_length, which the model has not read.
UNREAD = "_"


def write(folder: Path, task: StagedTask, name: str, answers: Sequence[Any]) -> Path:
    """Write the answers to a split's rows, in their order, and return the file.

    Args:
        folder: gets the file.
        task: what was answered.
        name: name of the split, which is the file's, such as "MNLI-mm".
        answers: answer to each row, in the form of ``objectives``.

    Raises:
        OSError: the file can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.tsv"
    lines = [HEADER, *(f"{index}\t{shown(task, answer)}" for index, answer in enumerate(answers))]
    write_text(path, "\n".join(lines) + "\n")
    return path


def shown(task: StagedTask, answer: Any) -> str:
    """Return an answer as it stands in a file.

    GLUE wants indices, but names for its tasks of inference, and scores with three decimals, none beyond its scale. Of
    other tasks classes are told by name, sets of them with "|" between, tags with blanks between.
    """
    glue = TASKS[task.name] if task.name in TASKS and TASKS[task.name].source == "glue" else None
    match task.kind.name:
        case "regression":
            low, high = glue.scale if glue and glue.scale else (float("-inf"), float("inf"))
            return f"{min(max(answer, low), high):.3f}" if glue else f"{answer:.6g}"
        case "multilabel":
            return "|".join(label for label, chosen in zip(task.labels, answer, strict=True) if chosen)
        case "tokens":
            return " ".join(task.labels[tag] if tag >= 0 else UNREAD for tag in answer)
        case _:
            return str(answer) if glue and not glue.answers_in_words else task.labels[answer]
