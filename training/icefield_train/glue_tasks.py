"""GLUE's tasks: its files, their columns, its counts of rows, its metrics.

Counts and metrics: Wang et al. 2019, "GLUE: A Multi-Task Benchmark and Analysis Platform", and the files themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from icefield_train.task import GlueFile, Layout, Split, Task


def _split(rows: int, hub: str, *files: GlueFile) -> Split:
    return Split(rows=rows, hub=hub, files=files)


def _files(layout: Layout, *names: str) -> tuple[GlueFile, ...]:
    return tuple(GlueFile(name=name, layout=layout) for name in names)


def _plain(
    folder: str,
    rows: tuple[int, int, int],
    layout: Layout,
    *,
    test: Layout,
    labels: tuple[str, ...],
    metrics: tuple[str, ...],
    hub: Layout,
    hub_name: str = "",
    extra: dict[str, tuple[GlueFile, ...]] | None = None,
    kind: str = "classification",
    **others: Any,
) -> Task:
    """Return a task of train.tsv, dev.tsv and test.tsv.

    Args:
        folder: GLUE's name for the task's folder.
        rows: GLUE's counts of train, dev and test.
        layout: columns of train and dev.
        test: columns of test.
        labels, metrics, kind, others: as in ``Task``.
        hub: columns on the hub.
        hub_name: name there, where it is not the folder's in small letters.
        extra: other forms of "train", "dev" and "test".
    """
    other = extra or {}
    name = hub_name or folder.lower()
    train, dev, rest = (
        (*_files(used, f"{split}.tsv"), *other.get(split, ()))
        for split, used in (("train", layout), ("dev", layout), ("test", test))
    )
    return Task(
        source="glue",
        kind=kind,
        folder=folder,
        labels=labels,
        metrics=metrics,
        splits={
            "train": _split(rows[0], f"{name}/train", *train),
            "dev": _split(rows[1], f"{name}/validation", *dev),
        },
        predict={folder: _split(rows[2], f"{name}/test", *rest)},
        hub_layout=hub,
        **others,
    )


_ENTAILMENT = ("entailment", "not_entailment")
_ONE = Layout(text="sentence", label="label")
_TWO = Layout(text="sentence1", text_pair="sentence2", label="label")
_TWO_TEST = Layout(text="sentence1", text_pair="sentence2")
_QUESTIONS = Layout(text="question1", text_pair="question2", label="is_duplicate")
_ANSWER = Layout(text="question", text_pair="sentence", label="label")
_COLA = Layout(text=4, label=2, widths=(4,))
_MRPC = Layout(text="#1 String", text_pair="#2 String", label="Quality")
_MRPC_TEST = Layout(text="#1 String", text_pair="#2 String")
_STSB = Layout(text="sentence1", text_pair="sentence2", label="score")
# The benchmark's original form, tab-separated in spite of its names; some rows name their sources in two more columns.
_STSB_ORIGINAL = Layout(text=6, text_pair=7, label=5, widths=(7, 9))
_STSB_ORIGINAL_TEST = Layout(text=6, text_pair=7, widths=(7, 9))
_MNLI = Layout(text="sentence1", text_pair="sentence2", label="gold_label")
_AX = Split(
    rows=1104,
    hub="ax/test",
    # Where GLUE's own script puts it, and where it is often moved to.
    files=_files(
        _TWO_TEST,
        *("AX.tsv", "diagnostic.tsv", "../AX/AX.tsv", "../AX/diagnostic.tsv", "../diagnostic/diagnostic.tsv"),
    ),
)

_MNLI_TASK = Task(
    source="glue",
    answers_in_words=True,
    folder="MNLI",
    labels=("entailment", "neutral", "contradiction"),
    metrics=("accuracy",),
    splits={
        "train": _split(392702, "mnli/train", *_files(_MNLI, "train.tsv")),
        "dev": _split(9815, "mnli/validation_matched", *_files(_MNLI, "dev_matched.tsv")),
        "dev_mm": _split(9832, "mnli/validation_mismatched", *_files(_MNLI, "dev_mismatched.tsv")),
    },
    predict={
        "MNLI-m": _split(9796, "mnli/test_matched", *_files(_TWO_TEST, "test_matched.tsv")),
        "MNLI-mm": _split(9847, "mnli/test_mismatched", *_files(_TWO_TEST, "test_mismatched.tsv")),
        "AX": _AX,
    },
    hub_layout=Layout(text="premise", text_pair="hypothesis", label="label"),
)

GLUE_TASKS: dict[str, Task] = {
    "cola": _plain(
        "CoLA",
        (8551, 1043, 1063),
        _COLA,
        test=Layout(text="sentence"),
        labels=("unacceptable", "acceptable"),
        metrics=("matthews",),
        hub=_ONE,
    ),
    "sst2": _plain(
        "SST-2",
        (67349, 872, 1821),
        _ONE,
        test=Layout(text="sentence"),
        labels=("negative", "positive"),
        metrics=("accuracy",),
        hub=_ONE,
        hub_name="sst2",
    ),
    "mrpc": _plain(
        "MRPC",
        (3668, 408, 1725),
        _MRPC,
        test=_MRPC_TEST,
        labels=("not_equivalent", "equivalent"),
        metrics=("accuracy", "f1"),
        hub=_TWO,
        # As Microsoft Research hands it on: GLUE's dev rows are among those of the train file.
        extra={
            "train": (GlueFile(name="msr_paraphrase_train.txt", layout=_MRPC, listed=False),),
            "dev": (GlueFile(name="msr_paraphrase_train.txt", layout=_MRPC, listed=True),),
            "test": _files(_MRPC_TEST, "msr_paraphrase_test.txt"),
        },
    ),
    "stsb": _plain(
        "STS-B",
        (5749, 1500, 1379),
        _STSB,
        test=_TWO_TEST,
        scale=(0.0, 5.0),
        kind="regression",
        labels=(),
        metrics=("pearson", "spearman"),
        hub=_TWO,
        hub_name="stsb",
        extra={
            "train": _files(_STSB_ORIGINAL, "sts-train.csv"),
            "dev": _files(_STSB_ORIGINAL, "sts-dev.csv"),
            "test": _files(_STSB_ORIGINAL_TEST, "sts-test.csv"),
        },
    ),
    "qqp": _plain(
        "QQP",
        (363846, 40430, 390965),
        _QUESTIONS,
        test=Layout(text="question1", text_pair="question2"),
        labels=("not_duplicate", "duplicate"),
        metrics=("accuracy", "f1"),
        hub=Layout(text="question1", text_pair="question2", label="label"),
        skip_short_rows=True,
    ),
    "mnli": _MNLI_TASK,
    # Trained as mnli; judged by, and asked for, the mismatched rows alone, or asked for GLUE's diagnostic set alone.
    "mnli-mm": replace(
        _MNLI_TASK,
        splits={"train": _MNLI_TASK.splits["train"], "dev": _MNLI_TASK.splits["dev_mm"]},
        predict={"MNLI-mm": _MNLI_TASK.predict["MNLI-mm"]},
    ),
    "ax": replace(_MNLI_TASK, predict={"AX": _AX}),
    "qnli": _plain(
        "QNLI",
        (104743, 5463, 5463),
        _ANSWER,
        test=Layout(text="question", text_pair="sentence"),
        labels=_ENTAILMENT,
        metrics=("accuracy",),
        hub=_ANSWER,
        answers_in_words=True,
    ),
    "rte": _plain(
        "RTE",
        (2490, 277, 3000),
        _TWO,
        test=_TWO_TEST,
        labels=_ENTAILMENT,
        metrics=("accuracy",),
        hub=_TWO,
        answers_in_words=True,
    ),
    "wnli": _plain(
        "WNLI",
        (635, 71, 146),
        _TWO,
        test=_TWO_TEST,
        labels=("not_entailment", "entailment"),
        metrics=("accuracy",),
        hub=_TWO,
    ),
}
