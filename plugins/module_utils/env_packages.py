"""What is installed in a Python environment, told by its folders alone. Standard library only."""

from __future__ import annotations

import re
from pathlib import Path


def packages_of(env: Path) -> dict[str, str]:
    """Return the versions of the packages in an environment by their normalised names; {} where there is none."""
    found = {}
    for folder in env.glob("lib/python3*/site-packages/*.dist-info"):
        name, _, version = folder.name.removesuffix(".dist-info").partition("-")
        found[re.sub(r"[-_.]+", "-", name).lower()] = version
    return found


def python_of(env: Path) -> str:
    """Return the version of an environment's Python, such as 3.11; "" where there is none."""
    folders = sorted(folder.parent.name for folder in env.glob("lib/python3*/site-packages"))
    return folders[-1].removeprefix("python") if folders else ""
