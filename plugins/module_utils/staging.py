"""Folders staged on a node under the digest of their content. Standard library only."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

# Lies beside the folder and not in it, so that it is no part of the content.
_MARK = ".verified"
# Byte code is made where it is needed, and copied nowhere.
_LEFT_OUT = frozenset({"__pycache__"})


def folder_of(stage_dir: Path, tree: Mapping[str, str]) -> Path:
    """Return where a tree lies: by its kind, then by its digest."""
    return stage_dir / tree["kind"] / tree["digest"]


def files_below(folder: Path, left_out: Collection[str] = _LEFT_OUT) -> dict[str, Path]:
    """Return the regular files below a folder by their paths within it, sorted; links are followed, as copying does.

    Raises:
        ValueError: a link leads nowhere, or back to a folder that it lies in.
        OSError: a folder can't be read.
    """
    return dict(sorted(_walk(folder, "", (os.path.realpath(folder),), left_out)))


def _walk(folder: Path, prefix: str, above: tuple[str, ...], left_out: Collection[str]) -> Iterator[tuple[str, Path]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in left_out:
                continue
            path = folder / entry.name
            if entry.is_dir():
                real = os.path.realpath(path)
                if real in above:
                    raise ValueError(f"{path} is a link to a folder that it lies in")
                yield from _walk(path, f"{prefix}{entry.name}/", (*above, real), left_out)
            elif entry.is_file():
                yield prefix + entry.name, path
            elif entry.is_symlink() and not path.exists():
                raise ValueError(f"{path} is a link to nothing")


def digest_of(folder: Path) -> str:
    """Return 12 hex digits of a SHA-256 over names and contents of the files below ``folder``.

    Raises:
        ValueError: a link in it leads nowhere or round in circles.
        OSError: something in it can't be read.
    """
    digest = hashlib.sha256()
    for name, path in files_below(folder).items():
        digest.update(os.fsencode(name) + f"\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:12]


def is_complete(stage_dir: Path, tree: Mapping[str, str]) -> bool:
    """Tell whether a tree was staged and verified."""
    folder = folder_of(stage_dir, tree)
    return folder.is_dir() and folder.with_name(folder.name + _MARK).exists()


def verify(stage_dir: Path, tree: Mapping[str, str]) -> None:
    """Compare a staged tree with its digest, and mark it as verified.

    Raises:
        ValueError: its content is another.
    """
    folder = folder_of(stage_dir, tree)
    found = digest_of(folder)
    if found != tree["digest"]:
        raise ValueError(
            f"{folder} has the digest {found} after staging, {tree['digest']} is expected; the copy is damaged"
        )
    folder.with_name(folder.name + _MARK).touch()
