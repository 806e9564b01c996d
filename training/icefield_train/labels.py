"""What the labels of a user's data are - classes, numbers, sets of classes - and the index of each class."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from icefield_train.class_names import SEPARATORS, checked_names, class_name, class_names, number, tell_alike
from icefield_train.doctor.findings import Findings, counted
from icefield_train.showing import shown, shown_names

# Whole numbers of so few different values are classes, of more a quantity, unless they count from 0 as classes do.
_FEW = 20
_MOST_COUNTED = 200
# The loss is a square in float32, which ends at 3.4e38, and batches add up some of them.
_MOST = 1e18
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """What labels are, and how one is read."""

    kind: str
    names: tuple[str, ...]
    """Names of the classes; none for numbers."""
    read: Callable[[Any], Any]
    """Returns the label of a cell; raises ValueError, which says what was found, where it can't be one."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that say how good a model is at it."""
        if self.kind == "regression":
            return ("pearson", "spearman", "mse")
        if self.kind == "multilabel":
            return ("micro_f1", "macro_f1")
        return ("accuracy", "f1") if len(self.names) == 2 else ("accuracy", "macro_f1")


def decide(problem: str, cells: Sequence[Any], names: Sequence[str], findings: Findings) -> Labels:
    """Return what the labels of the training rows are, and say so.

    Args:
        problem: one of ``config.PROBLEMS``.
        cells: the label of each training row.
        names: names of the classes where the file keeps them, with which the cells are read as well.
        findings: gets the decision.

    Raises:
        ValueError: the labels can't be what ``problem`` says, or can't be told apart from texts.
    """
    kind, why = (problem, "as problem says") if problem != "auto" else _guess(cells, names)
    others = _others(cells) if problem == "auto" and kind == "classification" and not names else ""
    if others:
        findings.warn(f"labels are read as classes: {others}; set problem=regression to have such labels refused")
    try:
        labels = {"classification": _classes, "regression": _numbers, "multilabel": _sets}[kind](cells, names, findings)
    except ValueError as error:
        raise ValueError(f"{error} ({others})" if others else str(error)) from None
    what = "" if kind == "regression" else f" of {counted(len(labels.names), 'class', 'classes')}"
    findings.note(f"{kind}{what}: {why}")
    if kind == "classification":
        tell_alike(labels.names, findings)
        if len(labels.names) == 2:
            findings.note(f"f1 is that of '{shown(labels.names[1])}'")
    return labels


def _guess(cells: Sequence[Any], names: Sequence[str]) -> tuple[str, str]:
    if any(isinstance(cell, list) for cell in cells):
        return "multilabel", "labels are lists"
    if names:
        return "classification", "the file names its classes"
    values = {number(cell) for cell in cells}
    commas = [cell for cell in cells if isinstance(cell, str) and _DECIMAL_COMMA.fullmatch(cell.strip())]
    if len(commas) * 2 > len(cells):
        raise ValueError(
            f"label '{shown(commas[0])}' found, decimal points expected; set problem=classification if it is a class"
        )
    if any(math.isnan(value) for value in values):
        return "classification", "not all labels are numbers"
    if any(not math.isfinite(value) or value != int(value) for value in values):
        return "regression", "labels are numbers with decimals; set problem=classification if they are classes"
    if len(values) <= _FEW or (len(values) <= _MOST_COUNTED and values == set(range(len(values)))):
        how = "few different whole numbers" if len(values) <= _FEW else "whole numbers that count from 0"
        return "classification", f"labels are {how}; set problem=regression if they are a quantity"
    return "regression", "labels are many different whole numbers; set problem=classification if they are classes"


def _others(cells: Sequence[Any]) -> str:
    """Say which label keeps the others, most of which are numbers, from being numbers; "" where none does."""
    found = [cell for cell in cells if math.isnan(number(cell))]
    if not found or len(found) * 2 >= len(cells):
        return ""
    return f"{len(cells) - len(found):,} of {len(cells):,} labels are numbers, the first other is '{shown(found[0])}'"


def _classes(cells: Sequence[Any], names: Sequence[str], findings: Findings) -> Labels:
    found = checked_names(names) or class_names(cells)
    _refuse_many(found, cells, "is label_column the right one, or problem=regression meant?")
    by_cell = _by_cell(found, indices=bool(names))

    def read(cell: Any) -> int:
        return _index(cell, by_cell, found)

    return Labels(kind="classification", names=tuple(found), read=read)


def _refuse_many(found: Sequence[str], cells: Sequence[Any], question: str) -> None:
    if len(found) > _FEW and len(found) * 2 > len(cells):
        raise ValueError(
            f"{len(found):,} different labels in {counted(len(cells), 'row')} found, far fewer classes than rows "
            f"expected; {question}"
        )


def _numbers(cells: Sequence[Any], names: Sequence[str], findings: Findings) -> Labels:
    def read(cell: Any) -> float:
        value = number(cell)
        if not math.isfinite(value):
            raise ValueError(f"label '{shown(cell)}' found, a number expected")
        if abs(value) > _MOST:
            raise ValueError(f"label '{shown(cell)}' found, a number from -{_MOST:g} to {_MOST:g} expected")
        return value

    return Labels(kind="regression", names=(), read=read)


def _sets(cells: Sequence[Any], names: Sequence[str], findings: Findings) -> Labels:
    """Labels are lists of classes, lists of 0 and 1 for each class, or texts with a mark between classes."""
    lists = [cell for cell in cells if isinstance(cell, list)]
    lengths = {len(cell) for cell in lists}
    if len(lists) == len(cells) and len(lengths) == 1 and min(lengths) > 1 and _flags(lists) and not names:
        return _flag_sets(tuple(str(index) for index in range(lengths.pop())))
    # A file that names its classes has one in a cell, or a list.
    mark = SEPARATORS[0] if names else _separator([cell for cell in cells if isinstance(cell, str)], findings)

    def items(cell: Any) -> list[Any]:
        if isinstance(cell, list):
            return cell
        return [part for part in str(cell).split(mark) if part.strip()] if isinstance(cell, str) else [cell]

    found = checked_names(names, without=SEPARATORS[0]) or class_names(
        (item for cell in cells for item in items(cell)), without=SEPARATORS[0]
    )
    if not names:
        _refuse_many(found, cells, "is label_column the right one?")
    if not any(map(items, cells)):
        raise ValueError("no row with a class found, at least 1 class expected")
    by_cell = _by_cell(found, indices=bool(names))

    def read(cell: Any) -> list[int]:
        chosen = {_index(_whole(item), by_cell, found, without=SEPARATORS[0]) for item in items(cell)}
        return [int(index in chosen) for index in range(len(found))]

    return Labels(kind="multilabel", names=tuple(found), read=read)


def _separator(texts: Sequence[str], findings: Findings) -> str:
    """Return the mark between the classes of a cell, and tell of others that may be meant as one."""
    found = [mark for mark in SEPARATORS if any(mark in text for text in texts)]
    if len(found) > 1:
        others = " and ".join(
            f"'{mark}', as in '{shown(next(text for text in texts if mark in text))}'" for mark in found[1:]
        )
        findings.warn(f"'{found[0]}' is taken for what stands between classes; labels have {others}, too")
    return found[0] if found else SEPARATORS[0]


def _whole(item: Any) -> Any:
    """Return an item of a list; a part of 1, as the share of a class, can't be its name."""
    if isinstance(item, float) and math.isfinite(item) and item != int(item):
        raise ValueError(f"the fraction {item:g} found in a list of labels, names of classes, or 0 and 1, expected")
    return item


def flag_columns(names: Sequence[str]) -> Labels:
    """Return what labels are where each class has a column of its own, with 0 and 1; a cell is the row's list.

    Raises:
        ValueError: a column's name can't be that of a class.
    """
    return _flag_sets(tuple(checked_names(names, without=SEPARATORS[0])))


def _flag_sets(names: tuple[str, ...]) -> Labels:
    def read(cell: Any) -> list[int]:
        values = [_flag(item) for item in cell] if isinstance(cell, list) else []
        if len(values) != len(names) or not set(values) <= {0.0, 1.0}:
            raise ValueError(
                f"label '{shown(cell)}' found, 0 or 1 for each of {counted(len(names), 'class', 'classes')} expected"
            )
        return [int(value) for value in values]

    return Labels(kind="multilabel", names=names, read=read)


def _flags(lists: Iterable[list[Any]]) -> bool:
    return all(not isinstance(item, str) and _flag(item) in (0.0, 1.0) for cell in lists for item in cell)


def _flag(item: Any) -> float:
    # JSON and Parquet have true and false.
    return float(item) if isinstance(item, bool) else number(item)


def _by_cell(names: Sequence[str], *, indices: bool) -> Mapping[str, int]:
    """Return the class of what a cell may say; with ``indices`` a dev file of another form may have these instead."""
    by_name = {name: index for index, name in enumerate(names)}
    # Where a name is a number, it is not told from an index.
    indices = indices and all(math.isnan(number(name)) for name in names)
    return {str(index): index for index in range(len(names))} | by_name if indices else by_name


def _index(cell: Any, by_cell: Mapping[str, int], names: Sequence[str], *, without: str = "") -> int:
    name = class_name(cell, without=without)
    if name not in by_cell:
        raise ValueError(f"label '{shown(name)}' found, one of {shown_names(names)} expected")
    return by_cell[name]
