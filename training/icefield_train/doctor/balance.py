"""How labels are spread over rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from icefield_train.doctor.findings import SHOWN, Findings, counted
from icefield_train.part import Part
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
        ValueError: all training rows have the same label.
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
    if kind != "multilabel" and len(found) == 1:
        raise ValueError(
            f"{train.path}: all labels are '{shown(labels[next(iter(found))])}', at least 2 classes expected"
        )
    if kind == "tokens":
        return
    rare = [index for index in range(len(labels)) if found[index] <= _RARE_SHARE * len(train.rows)]
    if rare:
        names = [f"{shown(labels[index])} ({found[index]:,})" for index in rare]
        findings.warn(f"{train.source}: few rows of {_some(names)}")
    for part in dev.values():
        counts = _counts(kind, part)
        if lacking := [shown(labels[index]) for index in range(len(labels)) if found[index] and not counts[index]]:
            findings.warn(f"{part.source}: no row of {_some(lacking)}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _counts(kind: str, part: Part) -> Counter[int]:
    if kind == "classification":
        return Counter(row["label"] for row in part.rows)
    if kind == "multilabel":
        return Counter(index for row in part.rows for index, value in enumerate(row["label"]) if value)
    return Counter(label for row in part.rows for label in row["label"])


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
