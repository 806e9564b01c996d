"""Reads the TSV files of GLUE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from icefield_train.tasks import Task


def read_glue(path: Path, task: Task) -> list[dict[str, Any]]:
    """Return the rows of a file: ``{"id", "text", "text_pair", "label"}``, ids from 0 in the order of the file.

    A quotation mark is text like any other: GLUE's files hold lone ones, and a reader that takes them for CSV quotes
    loses rows without a word.

    Raises:
        ValueError: a line is malformed; the message is ``FILE line N: what was found, what was expected``.
        OSError: the file can't be read.
    """
    # Split at line feeds only: sentences may hold other characters that splitlines() would take for ends of lines.
    lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    rows = []
    for number, line in enumerate(lines, start=1):
        where = f"{path} line {number}"
        try:
            cells = line.removesuffix(b"\r").decode("utf-8").split("\t")
        except UnicodeDecodeError:
            raise ValueError(f"{where}: bytes that are no UTF-8 found, text expected") from None
        if len(cells) != len(task.columns):
            raise ValueError(f"{where}: {_columns(len(cells))} found, {len(task.columns)} expected")
        if number == 1:
            if tuple(cells) != task.columns:
                raise ValueError(f"{where}: header {', '.join(cells)} found, {', '.join(task.columns)} expected")
            continue
        rows.append({"id": number - 2, **_row(dict(zip(task.columns, cells, strict=True)), task, where)})
    if not rows:
        raise ValueError(f"{path}: no rows found, at least 1 expected")
    return rows


def _row(cells: dict[str, str], task: Task, where: str) -> dict[str, Any]:
    accepted = [str(index) for index in range(len(task.labels))]
    if cells[task.label] not in accepted:
        raise ValueError(f"{where}: label '{cells[task.label]}' found, one of {', '.join(accepted)} expected")
    for column in filter(None, (task.text, task.text_pair)):
        if not cells[column].strip():
            raise ValueError(f"{where}: column '{column}' is empty, a sentence expected")
    return {
        "text": cells[task.text],
        "text_pair": cells[task.text_pair] if task.text_pair else None,
        "label": int(cells[task.label]),
    }


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"
