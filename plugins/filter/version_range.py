"""Ansible filter: is a version inside a range."""

from __future__ import annotations

import re
from collections.abc import Callable


def python_version_between(text: str, minimum: str, maximum: str) -> bool:
    """Tell whether the first version in ``text`` has a major.minor from ``minimum`` to ``maximum``, both included.

    Text without a version (an error of a shell, nothing at all) is outside every range.
    """
    match = re.match(r"\s*(\d+)\.(\d+)", text)
    if match is None:
        return False
    bounds = [tuple(int(part) for part in bound.split(".")[:2]) for bound in (minimum, maximum)]
    return bounds[0] <= (int(match[1]), int(match[2])) <= bounds[1]


class FilterModule:
    """Filters on versions."""

    def filters(self) -> dict[str, Callable[..., bool]]:
        """Return the filters by name."""
        return {"python_version_between": python_version_between}
