"""The tasks, as data. A new task is a new entry here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """One file of a task's data and the number of rows that its publisher gives (0: any number)."""

    file: str
    rows: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A classification of sentences or pairs of sentences."""

    source: str
    """Where rows come from: "generated" or "glue" (a folder of GLUE's TSV files)."""
    labels: tuple[str, ...]
    """Names of the classes; a row's label is an index into them."""
    metrics: tuple[str, ...] = ("accuracy", "f1")
    """Metrics on the dev rows; F1 is that of the last class."""
    splits: Mapping[str, Split] = field(default_factory=dict)
    """GLUE: the files of "train" and "dev"."""
    columns: tuple[str, ...] = ()
    """GLUE: the header."""
    text: str = ""
    """GLUE: column of the (first) sentence."""
    text_pair: str = ""
    """GLUE: column of the second sentence; "" where rows have one sentence."""
    label: str = ""
    """GLUE: column of the label."""


TASKS: dict[str, Task] = {
    "paraphrase": Task(source="generated", labels=("not_equivalent", "equivalent")),
    "mrpc": Task(
        source="glue",
        labels=("not_equivalent", "equivalent"),
        splits={"train": Split(file="train.tsv", rows=3668), "dev": Split(file="dev.tsv", rows=408)},
        columns=("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"),
        text="#1 String",
        text_pair="#2 String",
        label="Quality",
    ),
}
