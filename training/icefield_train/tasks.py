"""The tasks, as data. A new task is a new entry here, or in the table of GLUE's."""

from __future__ import annotations

from icefield_train.glue_tasks import GLUE_TASKS
from icefield_train.task import Task

TASKS: dict[str, Task] = {
    "paraphrase": Task(source="generated", labels=("not_equivalent", "equivalent"), metrics=("accuracy", "f1")),
    **GLUE_TASKS,
    # The user's own files. The data decides what kind of labels a text has.
    "text": Task(source="own", kind=""),
    "tokens": Task(source="own", kind="tokens"),
    "causal": Task(source="own", kind="causal"),
}
