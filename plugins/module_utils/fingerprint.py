"""One short name for everything that decides what a node's image contains."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

_SKIPPED = {"__pycache__", "README.md", "meta"}


def files_below(paths: Iterable[str]) -> list[Path]:
    """List the files of these files and folders, sorted, without documentation and byte code.

    Raises:
        FileNotFoundError: one of the paths does not exist.
    """
    found: set[Path] = set()
    for text in paths:
        path = Path(text)
        if not path.exists():
            raise FileNotFoundError(f"cannot fingerprint {path}: it does not exist")
        # By its path below the folder: where the folder itself lies does not count.
        inside = (p for p in path.rglob("*") if p.is_file() and not _SKIPPED & set(p.relative_to(path).parts))
        found.update([path] if path.is_file() else inside)
    return sorted(found)


def fingerprint(paths: Iterable[str], facts: Iterable[str] = (), root: str = "") -> str:
    """Return 12 hex digits of a SHA-256 over file names (relative to ``root``), their contents and ``facts``."""
    digest = hashlib.sha256()
    named = [
        (str(path.relative_to(root)) if root and path.is_relative_to(root) else path.name, path)
        for path in files_below(paths)
    ]
    # By these names and not by whole paths, whose order depends on where the checkout lies.
    for name, path in sorted(named):
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    for fact in facts:
        digest.update(f"\0{fact}".encode())
    return digest.hexdigest()[:12]
