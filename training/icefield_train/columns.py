"""Which columns of a user's data hold text and labels: as the settings say, or guessed from their names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from icefield_train.class_names import number
from icefield_train.config import TrainConfig
from icefield_train.doctor.findings import Findings
from icefield_train.readers.table import Table
from icefield_train.rules import refusal
from icefield_train.showing import shown, shown_names

# Names by which data sets call these columns, the likeliest first; a pair of texts by two names of one line.
_PAIRS = (
    ("sentence1", "sentence2"),
    ("text1", "text2"),
    ("text_a", "text_b"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("question", "sentence"),
    ("question", "answer"),
    ("query", "passage"),
    ("prompt", "completion"),
    ("prompt", "response"),
    ("instruction", "output"),
    ("text", "text_pair"),
    ("#1 string", "#2 string"),
)
_TEXTS = (
    *("text", "sentence", "review", "content", "comment", "comment_text", "body", "message", "tweet", "document"),
    *("utterance", "question", "description", "title", "headline", "input"),
)
_LABELS = (
    *("label", "labels", "class", "category", "target", "gold_label", "sentiment", "intent", "score", "rating"),
    *("stars", "is_duplicate", "quality", "y"),
)
# Columns that number the rows.
_NUMBERING = ("id", "idx", "index", "guid", "uid", "unnamed: 0")
_TOKENS = ("tokens", "words")
_TAGS = ("ner_tags", "tags", "labels", "pos_tags", "ner", "label")


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """Names of the columns that are read."""

    text: str
    text_pair: str = ""
    """"" where rows have one text."""
    labels: tuple[str, ...] = ()
    """One, or, where each class has a column of its own, several; none for a language model."""


def choose_columns(table: Table, config: TrainConfig, findings: Findings, *, labelled: bool = True) -> Columns:
    """Return the columns that the settings name, or, where they are empty, those whose names say what they hold.

    Raises:
        ValueError: a column that a setting names is not there, or none looks like one that is needed.
    """
    tokens = config.task == "tokens"
    text, pair = _texts(table, config)
    labels: tuple[str, ...] = ()
    if labelled:
        labels = tuple(part.strip() for part in config.label_column.split(",") if part.strip())
        # The name of one column may hold a comma.
        if config.label_column and config.label_column in table.columns:
            labels = (config.label_column,)
        taken = (text, pair)
        guessed = _first(_TAGS if tokens else _LABELS, [name for name in table.columns if name not in taken])
        labels = labels or tuple(filter(None, [guessed or _other(table, taken)]))
        if not labels:
            raise ValueError(_not_found("label_column", table))
    for setting, names in (("text_column", [text]), ("text_pair_column", [pair]), ("label_column", labels)):
        for name in names:
            if name and name not in table.columns:
                there = shown_names(table.columns)
                raise ValueError(refusal(setting, name, f"one of the columns of {table.path}: {there}"))
    if table.unit == "line" and labels and not config.label_column:
        _refuse_row(table, labels[0])
    used = [name for name in (text, pair, *labels) if name]
    if len(set(used)) < len(used):
        twice = next(name for name in used if used.count(name) > 1)
        raise ValueError(
            f"{table.path}: column '{shown(twice)}' can't be both; set text_column, text_pair_column and label_column"
        )
    _tell(config, text, pair, labels, findings)
    return Columns(text=text, text_pair=pair, labels=labels)


def tell_header(table: Table, findings: Findings) -> None:
    """Tell of a first row that looks like a header, where columns are given by their places, as without one."""
    known = {name for names in (_TEXTS, _LABELS, *_PAIRS) for name in names}
    found = [cell for cell in table.records[0] if str(cell).strip().lower() in known] if table.records else []
    # One such word may be a text, as "comment" is.
    if len(found) > 1:
        findings.warn(
            f"{table.path.name}: line {table.places[0]} looks like a header ({shown_names(found)}) and is read as a "
            "row, for columns are given by their places; give their names if it is one"
        )


def _refuse_row(table: Table, label: str) -> None:
    """Refuse a file whose first line is a row rather than a header: its label is one of other rows, or a number."""
    if label.lower() in (*_LABELS, *_TAGS) or not (
        math.isfinite(number(label)) or label.strip() in {str(cell).strip() for cell in table.column(label)}
    ):
        return
    raise ValueError(
        f"{table.path}: the first line looks like a row, not like a header ('{shown(label)}' is a label); for a file "
        "without a header give text_column and label_column by their places, from 1"
    )


def _texts(table: Table, config: TrainConfig) -> tuple[str, str]:
    if config.text_column:
        return config.text_column, config.text_pair_column
    if config.task == "tokens":
        text = _first(_TOKENS, table.columns)
        if not text:
            raise ValueError(_not_found("text_column", table))
        return text, ""
    lower = {name.lower(): name for name in table.columns}
    if not config.text_pair_column:
        for first, second in _PAIRS:
            # The second of a pair may be what is to be told, as a column "answer" with few different values.
            if first in lower and second in lower and config.label_column not in (lower[first], lower[second]):
                return lower[first], lower[second]
    others = [name for name in table.columns if name not in (config.text_pair_column, config.label_column)]
    text = _first(_TEXTS, others) or _first([first for first, _ in _PAIRS], others)
    if not text and len(others) == 2 - bool(config.label_column):
        text = max(others, key=lambda name: sum(len(str(cell)) for cell in table.column(name)))
    if not text:
        raise ValueError(_not_found("text_column", table))
    return text, config.text_pair_column


def _other(table: Table, taken: Sequence[str]) -> str:
    """Return the only column that is left, if it is the only one."""
    rest = [name for name in table.columns if name and name not in taken and name.lower() not in _NUMBERING]
    return rest[0] if len(rest) == 1 else ""


def _first(names: Sequence[str], columns: Sequence[str]) -> str:
    lower = {name.lower(): name for name in reversed(columns)}
    return next((lower[name] for name in names if name in lower), "")


def _not_found(setting: str, table: Table) -> str:
    header = "" if table.unit == "row" else "; where the first line is no header, give places from 1"
    return (
        f"setting '{setting}': needed, for no column's name tells; give one of the columns of {table.path}: "
        f"{shown_names(name or '(without a name)' for name in table.columns)}{header}"
    )


def _tell(config: TrainConfig, text: str, pair: str, labels: tuple[str, ...], findings: Findings) -> None:
    """Say which columns were guessed."""
    guessed = [
        f"{setting}: '{shown(name)}'"
        for setting, name in (("text_column", text), ("text_pair_column", pair), ("label_column", ", ".join(labels)))
        if name and not getattr(config, setting)
    ]
    if guessed:
        findings.note(f"guessed from the names of the columns: {', '.join(guessed)}")
