"""Names of classes: what a cell is called as a class, and which names can be told apart wherever they are written."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any
from unicodedata import normalize

from icefield_train.doctor.findings import Findings
from icefield_train.empty_cells import is_empty
from icefield_train.showing import seen, shown

# What may stand between the classes of one cell, the likeliest first; the first does in predictions.
SEPARATORS = ("|", ";", ",")
# Float accepts more: "1_0", and digits of other scripts.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity)", re.IGNORECASE)
# A whole number as pandas writes it where a column has an empty cell.
_WHOLE_FLOAT = re.compile(r"(-?[1-9][0-9]*|0)\.0")
# They would break a line of predictions, or one on a terminal.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NO_NAMES: dict[type, str] = {list: "a list", tuple: "a pair", dict: "an object", bytes: "bytes", type(None): "null"}


def number(cell: Any) -> float:
    """Return a cell as a number; nan where it is none, as a cell "true" is."""
    if isinstance(cell, bool | bytes) or (isinstance(cell, str) and not _NUMBER.fullmatch(cell.strip())):
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def plain(cell: Any) -> str:
    """Return what a cell is called as a class: its text, without blanks around it.

    Only "1.0" is the same as "1": a file may have become it on its way. "007", "+7" and "7e0" are other names.
    """
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float | Decimal) and math.isfinite(cell) and cell == int(cell) and -(2**53) < cell < 2**53:
        return str(int(cell))
    text = str(cell).strip()
    return text[:-2] if _WHOLE_FLOAT.fullmatch(text) else text


def class_name(cell: Any, what: str = "label", *, without: str = "") -> str:
    """Return what a cell is called as a class.

    Args:
        cell: the cell, or an item of it.
        what: what messages call it.
        without: a character that the name may not have, for it stands between names in predictions.

    Raises:
        ValueError: it can't be a name.
    """
    if type(cell) in _NO_NAMES:
        raise ValueError(f"{_NO_NAMES[type(cell)]} found as a {what}, the name of a class expected")
    name = plain(cell)
    if is_empty(name):
        raise ValueError(f"an empty {what} found, the name of a class expected")
    if _CONTROLS.search(name):
        raise ValueError(f"{what} '{shown(name)}' found, one without tabs, line ends and control characters expected")
    if without and without in name:
        kind = "a blank" if without == " " else f"'{without}'"
        raise ValueError(
            f"{what} '{shown(name)}' found, one without {kind} expected, which stands between several in predictions"
        )
    return name


def checked_names(names: Iterable[Any], what: str = "class", *, without: str = "") -> list[str]:
    """Return the names that a file gives its classes, in its order; what they are called is as ``class_name`` says.

    Raises:
        ValueError: one of them can't be a name, or is that of another class as well.
    """
    found: dict[str, None] = {}
    for cell in names:
        name = class_name(cell, what, without=without)
        if name in found:
            raise ValueError(f"{what} '{shown(name)}' found twice among the names that the file gives its classes")
        found[name] = None
    return list(found)


def named(cell: Any, names: Sequence[str], what: str = "label") -> Any:
    """Return a cell of a column whose file names its classes, with a name in place of each index; lists, too.

    Raises:
        ValueError: no class has such an index.
    """
    if isinstance(cell, list):
        return [named(item, names, what) for item in cell]
    if isinstance(cell, bool) or not isinstance(cell, int | float) or math.isnan(cell):
        return cell
    if cell not in range(len(names)):
        raise ValueError(f"{what} {shown(cell)} found, a number from 0 to {len(names) - 1} expected")
    return names[int(cell)]


def class_names(cells: Iterable[Any], *, without: str = "") -> list[str]:
    """Return the different names among cells, in order; a cell that can't be a name is passed over."""
    found = set()
    for cell in cells:
        try:
            found.add(class_name(cell, without=without))
        except ValueError:
            # Refused when it is read, with its place.
            continue
    return in_order(found)


def in_order(names: set[str]) -> list[str]:
    """Return names in an order that is the same for the same names: numbers by size, texts by code points."""
    if all(math.isfinite(number(name)) for name in names):
        return sorted(names, key=lambda name: (number(name), name))
    return sorted(names)


def tell_alike(names: Sequence[str], findings: Findings) -> None:
    """Tell of classes that may be meant to be one, that may be several, and that look like a missing value."""
    _tell_same(names, lambda name: " ".join(seen(name).casefold().split()), "differ in case or blanks alone", findings)
    # An accent may be a character of its own; "\ufb01" is another spelling of "fi".
    _tell_same(names, lambda name: normalize("NFKC", name), "look the same, but have other code points", findings)
    _tell_same(names, lambda name: Decimal(name) if math.isfinite(number(name)) else name, "are one number", findings)
    missing = [name for name in names if name.casefold() in ("null", "na", "n/a", "nan", "none")]
    if missing:
        findings.warn(f"'{missing[0]}' is read as the name of a class, not as a missing label")
    for mark in SEPARATORS:
        parts = Counter(part for name in names for part in {part.strip() for part in name.split(mark)})
        # Classes that have a part in common: "a|b" and "b".
        several = [name for name in names if mark in name and any(parts[part.strip()] > 1 for part in name.split(mark))]
        if several:
            findings.warn(
                f"'{shown(several[0])}' is read as the name of one class; set problem=multilabel if '{mark}' stands "
                "between several"
            )
            return


def _tell_same(names: Sequence[str], key: Any, how: str, findings: Findings) -> None:
    by_key: dict[Any, list[str]] = {}
    for name in names:
        by_key.setdefault(key(name), []).append(name)
    for alike in by_key.values():
        if len(alike) > 1:
            listed = ", ".join(f"'{shown(name)}'" for name in alike)
            findings.warn(f"classes that {how}: {listed}")
