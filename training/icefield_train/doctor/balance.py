"""How labels are spread over rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from icefield_train.doctor.findings import SHOWN, Faults, Findings, counted
from icefield_train.part import Part, labels_of
from icefield_train.showing import shown

# So many classes are listed; of more, the most and the least frequent.
_LISTED = 20
# A class with a smaller share of the training rows is hardly learned.
_RARE_SHARE = 0.01


def tell_labels(labels: Sequence[str], findings: Findings) -> None:
    """Tell which number stands for which class."""
    if labels:
        named = [f"{index} = {shown(name)}" for index, name in enumerate(labels[:_LISTED])]
        more = [f"and {len(labels) - _LISTED:,} more"] if len(labels) > _LISTED else []
        findings.note(f"labels: {', '.join([*named, *more])}")


def tell_balance(kind: str, labels: Sequence[str], train: Part, dev: Mapping[str, Part], findings: Findings) -> None:
    """Tell the share of each class, or the range of the numbers.

    Raises:
        ValueError: all training rows have the same label, or none has any; a dev row has one that no training row has.
    """
    if kind == "causal":
        return
    for part in (train, *dev.values()):
        if kind == "regression":
            _tell_range(part, findings)
        else:
            _tell_shares(kind, labels, part, findings)
    if kind == "regression":
        if len({row["label"] for row in train.rows}) == 1:
            raise ValueError(
                f"{train.path}: the label of all rows is {train.rows[0]['label']:g}, nothing can be learned"
            )
        return
    found = _counts(kind, train)
    if not found:
        raise ValueError(f"{train.path}: no row has a class, nothing can be learned")
    if kind != "multilabel" and len(found) == 1:
        raise ValueError(
            f"{train.path}: all labels are '{shown(labels[next(iter(found))])}', at least 2 classes expected"
        )
    rare = [index for index in range(len(labels)) if found[index] <= _RARE_SHARE * len(train.rows)]
    # Of a tag not rows but words are counted, of which most have another one.
    if rare and kind != "tokens":
        names = [f"{shown(labels[index])} ({found[index]:,})" for index in rare]
        findings.warn(f"{train.source}: few rows of {_some(names)}")
    for part in dev.values():
        counts = _counts(kind, part)
        if lacking := [shown(labels[index]) for index in range(len(labels)) if found[index] and not counts[index]]:
            findings.warn(f"{part.source}: no {'word' if kind == 'tokens' else 'row'} of {_some(lacking)}")
        _look_for_unlearned(kind, labels, train, part, findings)


def _look_for_unlearned(kind: str, labels: Sequence[str], train: Part, dev: Part, findings: Findings) -> None:
    """Refuse dev rows of a class that no training row has; of tags, which are a part of their rows, tell.

    Such classes are known by name: a file names them, or they go on with an entity, as I-PER does with B-PER.
    """
    learned, others = _counts(kind, train), Counter[int]()
    faults = Faults(dev.path, dev.unit)
    for row, place in zip(dev.rows, dev.places, strict=True):
        if unlearned := [index for index in labels_of(kind, row) if not learned[index]]:
            faults.add(place, f"label '{shown(labels[unlearned[0]])}' found, which no row of {train.source} has")
            others.update(unlearned)
    if kind != "tokens":
        faults.refuse()
    elif others:
        names = [shown(labels[index]) for index in sorted(others)]
        findings.warn(f"{dev.source}: tags that no row of {train.source} has: {_some(names)}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _counts(kind: str, part: Part) -> Counter[int]:
    return Counter(index for row in part.rows for index in labels_of(kind, row))


def _tell_shares(kind: str, labels: Sequence[str], part: Part, findings: Findings) -> None:
    counts = _counts(kind, part)
    total = len(part.rows) if kind == "multilabel" else sum(counts.values())
    order = sorted(range(len(labels)), key=lambda index: (-counts[index], index))
    shares = [f"{shown(labels[index])} {counts[index] / max(total, 1):.1%}" for index in order]
    if len(shares) > _LISTED:
        shares = [*shares[: _LISTED // 2], "...", *shares[-_LISTED // 4 :]]
    unit = counted(total, "token") if kind == "tokens" else counted(len(part.rows), "row")
    findings.note(f"{part.source}: {unit}: {', '.join(shares)}")


def _tell_range(part: Part, findings: Findings) -> None:
    values = [row["label"] for row in part.rows]
    mean = sum(values) / len(values)
    findings.note(
        f"{part.source}: {counted(len(values), 'row')}, labels from {min(values):g} to {max(values):g}, mean {mean:.3g}"
    )
