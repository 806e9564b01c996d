"""A user's own labelled words: sentences as lists of words, each with a tag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from icefield_train.class_names import class_name, in_order
from icefield_train.columns import choose_columns
from icefield_train.config import TrainConfig
from icefield_train.doctor.findings import Faults, Findings, counted
from icefield_train.empty_cells import EmptyCells, is_empty
from icefield_train.own_data import OwnData, with_dev
from icefield_train.own_files import find_sources, is_conll, read_source
from icefield_train.part import Part, Rows
from icefield_train.readers.conll import TAGS, TOKENS
from icefield_train.readers.table import Table
from icefield_train.showing import shown, shown_names

OUTSIDE = "O"
# Prefixes of tags that begin, go on with, end or are a whole entity.
_PREFIXES = ("B-", "I-", "E-", "S-")


def read_own_tokens(config: TrainConfig, findings: Findings) -> OwnData:
    """Read a user's tagged sentences.

    Raises:
        ValueError: settings, files or rows are not accepted; one line says what and where.
        OSError: a file can't be read.
    """
    parts = {}
    for name, source in find_sources(config, findings).items():
        table = read_source(source, config, findings, labelled=name != "test")
        # The reader of CoNLL's form has used the settings of columns, which are places there.
        used = replace(config, text_column=TOKENS, label_column=TAGS) if is_conll(source, config) else config
        parts[name] = _part(table, used, findings, labelled=name != "test")
    names = _names(tag for row in parts["train"].rows for tag in row["label"])
    for name in ("train", "dev"):
        if name in parts:
            _index(parts[name], names, parts["train"])
    entities = _are_entities(names)
    if entities:
        _tell_starts(parts["train"], names, findings)
    _tell_metric(names, findings)
    return OwnData(
        kind="tokens",
        labels=tuple(names),
        metrics=("entity_f1", "accuracy") if entities else ("accuracy",),
        parts=with_dev(parts, "tokens", config, findings),
    )


def _part(table: Table, config: TrainConfig, findings: Findings, *, labelled: bool) -> Part:
    """Return a table's rows, with the tags as texts."""
    columns = choose_columns(table, config, findings, labelled=labelled)
    # A sentence without words can't be learned from: there is no keeping it.
    policy = {"auto": "drop", "empty": "fail"}.get(config.empty_cells, config.empty_cells)
    empty, faults = EmptyCells(policy if labelled else "empty", table), Faults(table.path, table.unit)
    class_names = table.label_names.get(columns.labels[0], ()) if labelled else ()
    try:
        for name in class_names:
            class_name(name, "tag", without=" ")
    except ValueError as error:
        raise ValueError(f"{table.path}: column '{shown(columns.labels[0])}': {error}") from None
    words_at = table.columns.index(columns.text)
    tags_at = table.columns.index(columns.labels[0]) if labelled else None
    rows: Rows = []
    places: list[int] = []
    for place, cells in zip(table.places, table.records, strict=True):
        if not empty.keeps(place, [] if cells[words_at] else [columns.text]):
            continue
        try:
            words = _words(cells[words_at] or [], columns.text)
            tags = None if tags_at is None else _tags(cells[tags_at], columns.labels[0], len(words), class_names)
        except ValueError as error:
            faults.add(place, str(error))
            continue
        rows.append({"id": len(rows), "tokens": words, "label": tags})
        places.append(place)
    faults.refuse()
    empty.finish(findings)
    if not rows:
        raise ValueError(f"{table.path}: no rows are left, at least 1 expected")
    return Part(path=table.path, rows=rows, places=places, unit=table.unit)


def _words(cell: Any, column: str) -> list[str]:
    if not isinstance(cell, list) or not all(isinstance(word, str) for word in cell):
        raise ValueError(f"column '{shown(column)}': {_shown(cell)} found, a list of words expected")
    if any(map(is_empty, cell)):
        raise ValueError(f"column '{shown(column)}': an empty word found")
    return cell


def _tags(cell: Any, column: str, words: int, names: tuple[str, ...]) -> list[str]:
    if not isinstance(cell, list) or any(isinstance(tag, list | dict | float) or tag is None for tag in cell):
        raise ValueError(f"column '{shown(column)}': {_shown(cell)} found, a list of tags expected")
    if len(cell) != words:
        raise ValueError(f"{counted(words, 'word')} and {counted(len(cell), 'tag')} found, as many of each expected")
    if not names:
        # A blank stands between the tags of a row in predictions.
        return [class_name(tag, "tag", without=" ") for tag in cell]
    wrong = [tag for tag in cell if not isinstance(tag, int) or not 0 <= tag < len(names)]
    if wrong:
        raise ValueError(
            f"column '{shown(column)}': tag {shown(wrong[0])} found, a number from 0 to {len(names) - 1} expected"
        )
    return [names[tag] for tag in cell]


def _names(tags: Iterable[str]) -> list[str]:
    """Return the tags in an order that is the same for the same tags; each kind of entity can begin and go on."""
    found = set(tags)
    if _are_entities(found):
        kinds = sorted({tag[2:] for tag in found if tag != OUTSIDE})
        used = [
            prefix for prefix in _PREFIXES if prefix in ("B-", "I-") or any(tag.startswith(prefix) for tag in found)
        ]
        return [OUTSIDE, *(f"{prefix}{kind}" for kind in kinds for prefix in used)]
    return sorted(in_order(found), key=lambda tag: tag != OUTSIDE)


def _are_entities(tags: Iterable[str]) -> bool:
    others = [tag for tag in tags if tag != OUTSIDE]
    return bool(others) and all(tag.startswith(_PREFIXES) and len(tag) > 2 for tag in others)


def _index(part: Part, names: list[str], train: Part) -> None:
    """Put the index of each tag in place of its name."""
    by_name, faults = {name: index for index, name in enumerate(names)}, Faults(part.path, part.unit)
    for row, place in zip(part.rows, part.places, strict=True):
        unknown = [tag for tag in row["label"] if tag not in by_name]
        if unknown:
            faults.add(
                place, f"tag '{shown(unknown[0])}' found, one of {shown_names(names)} expected, as in {train.source}"
            )
        else:
            row["label"] = [by_name[tag] for tag in row["label"]]
    faults.refuse()


def _tell_starts(train: Part, names: list[str], findings: Findings) -> None:
    """Tell of entities that go on without having begun: another convention, or a mistake."""
    found = 0
    for row in train.rows:
        before = OUTSIDE
        for tag in (names[index] for index in row["label"]):
            found += tag.startswith("I-") and (before == OUTSIDE or before[2:] != tag[2:])
            before = tag
    if found:
        findings.note(f"{train.source}: {counted(found, 'entity begins', 'entities begin')} with I- rather than B-")


def _tell_metric(names: list[str], findings: Findings) -> None:
    """Tell what the tags are taken for, on which the metric depends."""
    plain = [name for name in names if name != OUTSIDE and not name.startswith(_PREFIXES)]
    if not plain:
        findings.note("the tags are those of entities; entity_f1 counts an entity that is found whole")
        return
    findings.note("the tags are one for each word; accuracy counts words")
    if len(plain) < len(names) - (OUTSIDE in names):
        last = [name for name in plain if name.startswith(("L-", "U-"))]
        advice = "write E- for L- and S- for U-" if last else f"begin each with {', '.join(_PREFIXES)}"
        findings.warn(
            f"some tags are those of entities, but '{shown(plain[0])}' is not: no entity_f1; {advice} if all are"
        )


def _shown(cell: Any) -> str:
    words = {list: "a list of something else", str: "a text", type(None): "nothing", dict: "an object"}
    return words.get(type(cell), f"'{shown(cell)}'")
