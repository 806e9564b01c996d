"""Ansible filters: what a node answered before any module ran on it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

QUESTIONS = ("python", "hostname", "machine", "host_key", "fingerprint")


def node_answers(text: str) -> dict[str, str]:
    """Return the answers, ``""`` for each that is missing, from lines of a name and a value among other output."""
    answers = dict.fromkeys(QUESTIONS, "")
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        if name in answers:
            answers[name] = value.strip()
    return answers


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
    """Filters on a node's first answers."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"node_answers": node_answers, "python_version_between": python_version_between}
