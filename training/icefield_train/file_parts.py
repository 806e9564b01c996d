"""Files that were written in several parts, such as train-00000-of-00003.parquet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_PART = re.compile(r"-(\d+)-of-(\d+)$")


def whole_stem(path: Path) -> str:
    """Return a file's name without its ending and without what makes it a part of one."""
    return _PART.sub("", path.stem)


def is_part(path: Path) -> bool:
    """Tell whether a file's name says that it is a part of one."""
    return bool(_PART.search(path.stem))


def refuse_incomplete(paths: Sequence[Path]) -> None:
    """See to it that files with one stem are one whole file, or all parts of one, each once.

    Raises:
        ValueError: they are not; the message names the first file.
    """
    matches = [_PART.search(path.stem) for path in paths]
    if not any(matches):
        return
    folder, first = paths[0].parent, paths[0].name
    # Written in one form: 0-of-2 is not of the same file as 00001-of-00002.
    totals = [match and match[2] for match in matches]
    other = next((path.name for path, total in zip(paths, totals, strict=True) if total != totals[0]), "")
    if other:
        raise ValueError(f"{folder}: {first} and {other} found, the parts of one file expected")
    numbers, count = sorted(int(match[1]) for match in matches if match), int(totals[0] or 0)
    if numbers != list(range(count)):
        raise ValueError(f"{folder}: {len(numbers)} of {count} parts of {first} found")
