"""The rows of a staged folder, after a look at each: files may have been damaged, or written by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from icefield_train import json_text
from icefield_train.doctor.findings import Faults
from icefield_train.part import Rows
from icefield_train.readers.text_lines import unpaired_surrogate
from icefield_train.showing import shown
from icefield_train.staged_task import StagedTask


def read_rows(path: Path, task: StagedTask) -> Rows:
    """Return the rows of a staged .jsonl file.

    Raises:
        ValueError: it can't be read, has no rows, or one that is none of the task; one line says what and where.
    """
    rows, faults = [], Faults(path)
    try:
        # A row ends at a line feed; its texts hold other characters that end lines elsewhere.
        with path.open(encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                row = _read(line)
                if fault := _fault(row, task) or _half(line, row):
                    faults.add(number, fault)
                rows.append(row)
    except OSError as error:
        raise ValueError(f"{path}: can't be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: bytes that are no UTF-8 found, text expected") from None
    faults.refuse()
    if not rows:
        raise ValueError(f"{path}: no rows found, at least 1 expected")
    return rows


def _read(line: str) -> Any:
    try:
        return json_text.parse(line)
    except ValueError:
        return None


def _half(line: str, row: Any) -> str:
    # A whole line is looked at rather than each of its texts.
    if "\\u" in line and unpaired_surrogate(json.dumps(row, ensure_ascii=False)):
        return "half a character found, text expected"
    return ""


def _fault(row: Any, task: StagedTask) -> str:
    """Return what is wrong with a row; "" where it can be used."""
    if not isinstance(row, dict):
        return "no JSON object found, a row expected"
    if task.kind.name == "tokens":
        words = row.get("tokens")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            return 'no list of words "tokens" found'
    elif not isinstance(row.get("text"), str) or not isinstance(row.get("text_pair", 0), str | None):
        return 'no texts "text" and "text_pair" found, the second of which may be null'
    label = row.get("label")
    # Rows to predict have none.
    if label is None or _is_label(label, row, task):
        return ""
    return f"label {shown(json.dumps(label))} found, {task.kind.label} expected"


def _is_label(label: Any, row: dict[str, Any], task: StagedTask) -> bool:
    classes = len(task.labels)
    match task.kind.name:
        case "classification":
            return _is_class(label, classes)
        case "regression":
            return type(label) in (int, float) and math.isfinite(label)
        case "multilabel":
            return isinstance(label, list) and len(label) == classes and all(_is_class(value, 2) for value in label)
        case "tokens":
            fits = isinstance(label, list) and len(label) == len(row["tokens"])
            return fits and all(_is_class(tag, classes) for tag in label)
        case _:
            return False


def _is_class(value: Any, classes: int) -> bool:
    return type(value) is int and 0 <= value < classes
