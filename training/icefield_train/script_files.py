"""The folders of a user's script on a node: the copy of its staged files that it works in, and its results."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from icefield_train.plan import Plan, Script


def work_dir(plan: Plan) -> Path:
    """Return the folder that the script is run in."""
    return Path(plan.run_dir) / "work"


def output_dir(plan: Plan) -> Path:
    """Return where the results lie in the end, whatever folder the script writes them into."""
    return Path(plan.run_dir) / "output"


def prepare(plan: Plan, script: Script) -> None:
    """Copy the staged files to where the script works: what it writes there must not change what other runs get.

    Raises:
        OSError: the files cannot be read, or the disk is full.
    """
    shutil.copytree(script.source, work_dir(plan), copy_function=shutil.copy)
    if Path(script.output) == output_dir(plan):
        output_dir(plan).mkdir()


def keep_output(plan: Plan, script: Script) -> None:
    """Bring results that the script has written elsewhere into the run's folder, from which they are collected.

    Raises:
        OSError: they cannot be moved.
    """
    written = Path(script.output)
    if written.is_dir():
        _make_links_relative(written)
    if written == output_dir(plan):
        return
    if written.is_dir():
        shutil.move(written, output_dir(plan))
    elif written.exists():
        output_dir(plan).mkdir()
        shutil.move(written, output_dir(plan) / written.name)


def _make_links_relative(folder: Path) -> None:
    """Make symbolic links from one result to another relative, so that they hold wherever the results are taken."""
    for path in folder.rglob("*"):
        if path.is_symlink() and path.readlink().is_absolute() and path.readlink().is_relative_to(folder):
            target = os.path.relpath(path.readlink(), path.parent)
            path.unlink()
            path.symlink_to(target)
