"""A user's own data: texts or pairs of texts, with classes, numbers or sets of classes as labels, or without any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from icefield_train.class_names import named
from icefield_train.columns import Columns, choose_columns
from icefield_train.config import TrainConfig
from icefield_train.cut import dev_rows
from icefield_train.doctor.findings import Faults, Findings, counted
from icefield_train.doctor.repeats import content
from icefield_train.empty_cells import EmptyCells, is_empty
from icefield_train.labels import Labels, decide, flag_columns
from icefield_train.own_files import find_sources, read_source
from icefield_train.part import Part, Rows, labels_of
from icefield_train.readers.table import Table
from icefield_train.rules import refusal
from icefield_train.showing import shown, shown_names


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnData:
    """Splits of a user's data."""

    kind: str
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    parts: Mapping[str, Part]
    """"train", "dev", and "test" where there is one."""


def read_own(config: TrainConfig, findings: Findings) -> OwnData:
    """Read a user's texts.

    Raises:
        ValueError: settings, files or rows are not accepted; one line says what and where.
        OSError: a file can't be read.
    """
    sources = find_sources(config, findings)
    labelled = config.task != "causal"
    # Rows to predict are answered one for one.
    tables = {name: read_source(sources[name], config, findings, labelled=name != "test") for name in sources}
    columns = choose_columns(tables["train"], config, findings, labelled=labelled)
    parts = {}
    for name, table in tables.items():
        used = columns if name != "test" else replace(columns, labels=())
        _refuse_missing(table, used, tables["train"])
        parts[name] = _part(table, used, config, findings, keep_all=name == "test")
    if not labelled:
        parts = with_dev(parts, "causal", config, findings)
        return OwnData(kind="causal", labels=(), metrics=("perplexity",), parts=parts)
    labels = _labels(tables["train"], columns, parts["train"], config, findings)
    for name in ("train", "dev"):
        if name in parts:
            parts[name] = _with_labels(parts[name], labels, f" in {parts['train'].source}" if name == "dev" else "")
    parts = with_dev(parts, labels.kind, config, findings)
    return OwnData(kind=labels.kind, labels=labels.names, metrics=labels.metrics, parts=parts)


def with_dev(parts: dict[str, Part], kind: str, config: TrainConfig, findings: Findings) -> dict[str, Part]:
    """Return the splits with a "dev" among them: the user's own, or one cut from "train".

    Raises:
        ValueError: there are too few rows.
    """
    if "dev" in parts:
        if config.dev_share != TrainConfig().dev_share:
            findings.warn(f"setting 'dev_share': ignored, {parts['dev'].source} has the dev rows")
        return parts
    train = parts["train"]
    strata = [row["label"] if kind == "classification" else "" for row in train.rows]
    chosen = dev_rows(
        [content(row) for row in train.rows], strata, config.dev_share, [labels_of(kind, row) for row in train.rows]
    )
    if not chosen:
        different = len({content(row) for row in train.rows})
        repeated = f", {different:,} of them different" if different < len(train.rows) else ""
        found = f"{counted(len(train.rows), 'row')} found{repeated}"
        raise ValueError(f"{train.path}: {found}, too few to cut dev rows from; give dev_file")
    how = " of each class" if kind == "classification" else ""
    findings.note(
        f"dev rows: {len(chosen):,} of {counted(len(train.rows), 'row')}, which are not trained on "
        f"(no dev file; dev_share {config.dev_share:g}{how})"
    )
    taken = set(chosen)
    rest = [index for index in range(len(train.rows)) if index not in taken]
    return {**parts, "train": _some(train, rest, "train"), "dev": _some(train, chosen, "dev")}


def _some(part: Part, indices: Sequence[int], name: str) -> Part:
    return replace(
        part,
        rows=[part.rows[index] for index in indices],
        places=[part.places[index] for index in indices],
        title=f"{name} rows of {part.path.name}",
    )


def _refuse_missing(table: Table, columns: Columns, train: Table) -> None:
    missing = [
        name for name in (columns.text, columns.text_pair, *columns.labels) if name and name not in table.columns
    ]
    if missing:
        there = shown_names(table.columns)
        raise ValueError(f"{table.path}: column '{shown(missing[0])}' of {train.path.name} is missing, {there} found")


def _part(table: Table, columns: Columns, config: TrainConfig, findings: Findings, *, keep_all: bool) -> Part:
    """Return a table's rows, with the cells of their labels as they are."""
    policy = "drop" if config.empty_cells == "auto" else config.empty_cells
    empty, faults = EmptyCells("empty" if keep_all else policy, table), Faults(table.path, table.unit)
    names = [name for name in (columns.text, columns.text_pair) if name]
    at = [table.columns.index(name) for name in names]
    labels_at = [table.columns.index(name) for name in columns.labels]
    rows: Rows = []
    places: list[int] = []
    for place, cells in zip(table.places, table.records, strict=True):
        missing = [name for name, index in zip(names, at, strict=True) if is_empty(cells[index])]
        lacking = [
            name
            for name, index in zip(columns.labels, labels_at, strict=True)
            if _no_label(cells[index], name, table, config)
        ]
        if not empty.keeps(place, missing, lacking[0] if lacking else ""):
            continue
        try:
            texts = [_text(cells[index], name) for name, index in zip(names, at, strict=True)]
            label = _label([cells[index] for index in labels_at], columns.labels, table)
        except ValueError as error:
            faults.add(place, str(error))
            continue
        rows.append(
            {"id": len(rows), "text": texts[0], "text_pair": texts[1] if len(texts) > 1 else None, "label": label}
        )
        places.append(place)
    faults.refuse()
    empty.finish(findings)
    if not rows:
        raise ValueError(f"{table.path}: no rows are left, at least 1 expected")
    return Part(path=table.path, rows=rows, places=places, unit=table.unit)


def _text(cell: Any, column: str) -> str:
    if is_empty(cell):
        return ""
    if isinstance(cell, list | dict | tuple | bytes):
        kind = "bytes" if isinstance(cell, bytes) else "an object" if isinstance(cell, dict) else "a list"
        raise ValueError(f"column '{shown(column)}': {kind} found, text expected")
    # As the file writes it, where Python has "True".
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def _label(cells: list[Any], columns: Sequence[str], table: Table) -> Any:
    """Return a row's label as it is, but with names in place of indices where the file has both."""
    if len(cells) != 1:
        return cells or None
    names = table.label_names.get(columns[0], ())
    try:
        return named(cells[0], names) if names else cells[0]
    except ValueError as error:
        raise ValueError(f"column '{shown(columns[0])}': {error}") from None


def _no_label(cell: Any, column: str, table: Table, config: TrainConfig) -> bool:
    """Tell whether a row has no label. A set of classes may be empty."""
    if config.problem == "multilabel" and isinstance(cell, str | list):
        return False
    # So datasets marks rows without a label.
    return is_empty(cell) or (column in table.label_names and cell == -1)


def _labels(table: Table, columns: Columns, train: Part, config: TrainConfig, findings: Findings) -> Labels:
    if len(columns.labels) > 1:
        if config.problem not in ("auto", "multilabel"):
            raise ValueError(refusal("label_column", config.label_column, f"one column, for problem={config.problem}"))
        findings.note(f"multilabel of {len(columns.labels)} classes: each has a column of its own")
        try:
            return flag_columns(columns.labels)
        except ValueError as error:
            raise ValueError(f"{table.path}: {error}") from None
    try:
        return decide(
            config.problem,
            [row["label"] for row in train.rows],
            table.label_names.get(columns.labels[0], ()),
            findings,
        )
    except ValueError as error:
        raise ValueError(f"{table.path}: column '{shown(columns.labels[0])}': {error}") from None


def _with_labels(part: Part, labels: Labels, of_train: str) -> Part:
    faults, rows = Faults(part.path, part.unit), []
    for row, place in zip(part.rows, part.places, strict=True):
        try:
            rows.append({**row, "label": labels.read(row["label"])})
        except ValueError as error:
            faults.add(place, f"{error}{of_train and ', as' + of_train}")
    faults.refuse()
    return replace(part, rows=rows)
