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
    found = [(int(match[1]), int(match[2])) for path in paths if (match := _PART.search(path.stem))]
    if not found:
        return
    folder, first = paths[0].parent, paths[0].name
    other = next((path.name for path in paths if not _same_file(path, paths[0])), "")
    if other:
        raise ValueError(f"{folder}: {first} and {other} found, the parts of one file expected")
    if sorted(number for number, _ in found) != list(range(found[0][1])):
        raise ValueError(f"{folder}: {len(found)} of {found[0][1]} parts of {first} found")


def _same_file(path: Path, first: Path) -> bool:
    match, wanted = _PART.search(path.stem), _PART.search(first.stem)
    # Written in one form: 0-of-2 is not of the same file as 00001-of-00002.
    return match is not None and wanted is not None and match[2] == wanted[2]
