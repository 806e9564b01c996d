"""Folders staged on a node under the digest of their content. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

try:
    from ansible.module_utils.fingerprint import fingerprint
except ImportError:  # on the controller and in tests, from the checkout
    from plugins.module_utils.fingerprint import fingerprint

# Lies beside the folder and not in it, so that it is no part of the content.
_MARK = ".verified"


def folder_of(stage_dir: Path, tree: Mapping[str, str]) -> Path:
    """Return where a tree lies: by its kind, then by its digest."""
    return stage_dir / tree["kind"] / tree["digest"]


def digest_of(folder: Path) -> str:
    """Return 12 hex digits over names and contents of the files below ``folder``."""
    return str(fingerprint([str(folder)], root=str(folder)))


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
