"""All that the doctor says about a task's rows, whatever files they were read from."""

from __future__ import annotations

from icefield_train.doctor.balance import tell_balance, tell_labels
from icefield_train.doctor.characters import tell_characters
from icefield_train.doctor.findings import Findings
from icefield_train.doctor.repeats import tell_overlap, tell_repeats
from icefield_train.doctor.words import tell_missing_words
from icefield_train.task_data import TaskData


def examine(data: TaskData, findings: Findings) -> None:
    """Look at labels, repeated rows, and rows that are in train and dev.

    Raises:
        ValueError: nothing can be learned from the rows.
    """
    tell_labels(data.labels, findings)
    tell_balance(data.kind, data.labels, data.train, data.dev, findings)
    tell_missing_words(data.train, findings)
    tell_characters(data.train, findings)
    tell_repeats(data.train, findings)
    for part in data.dev.values():
        tell_missing_words(part, findings)
        tell_characters(part, findings)
        tell_repeats(part, findings)
        tell_overlap(data.train, part, findings)
