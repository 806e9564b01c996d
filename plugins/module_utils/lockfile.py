"""Reading of requirement locks: one exact pin a line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)$")


def pins(text: str) -> dict[str, str]:
    """Return package names (normalised) and versions of a lock's text.

    Raises:
        ValueError: a line is not an exact pin.
    """
    found: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.partition("#")[0].strip()
        if not line or line.startswith("-r "):
            continue
        match = _PIN.match(line)
        if match is None:
            raise ValueError(f"line {number}: '{line}' is not an exact pin (name==version)")
        found[re.sub(r"[-_.]+", "-", match[1]).lower()] = match[2]
    return found


def digest(texts: Iterable[str]) -> str:
    """Return a SHA-256 over the pins of these locks; comments and order don't count."""
    lines = sorted(f"{name}=={version}" for text in texts for name, version in pins(text).items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def left_out(text: str) -> set[str]:
    """Return the packages that a lock leaves out on purpose: lines ``# without: NAME (why)``."""
    return set(re.findall(r"^# without: ([A-Za-z0-9._-]+)", text, flags=re.MULTILINE))


def broken_requirements(check_output: str, without: set[str]) -> list[str]:
    """Return the lines of ``uv pip check`` that tell a real conflict, not a package left out on purpose."""
    lines = [line.strip() for line in check_output.splitlines() if line.startswith("The package ")]
    missing = re.compile(r"requires `([A-Za-z0-9._-]+).*not installed")
    return [line for line in lines if not ((match := missing.search(line)) and match[1] in without)]
