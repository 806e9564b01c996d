"""What a stack's file says: its pins, and the lines at its head that a program reads. Standard library only.

# stack: NAME                     that of the file
# tested-with: CPython 3.11, ...  where all of it was seen to work
# python: 3.11 to 3.12            Pythons that it takes; or "3.11 or newer"
# needs: avx2 avx512f             flags of /proc/cpuinfo without which it is refused; or "nothing"
# end-of-life: none announced     or what ended, and when
# security: TEXT                  what becomes of known faults
# gains: TEXT                     (optional) what it gains over the stack current
# imports: torch transformers     modules that have to be importable once it is installed
# extensions: MODULE              (optional) modules that each rank imports first
# preload: lib/libx.so            (optional) libraries of the environment that ranks are started with
# mpi: mpich                      whose mpiexec it has: mpich or intel
# disk: 4                         GiB that a node's image with it takes
# index: PACKAGE SETTING          (optional) the setting that names the index which has the package
# instead: NAME                   (optional) a stack that does without that index
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

try:
    from ansible.module_utils import lockfile
except ImportError:  # imported by the controller's code and by tests, from the checkout
    from plugins.module_utils import lockfile

DEFAULT = "current"
NO_END = "none announced"
NEEDED = ("stack", "tested-with", "python", "needs", "end-of-life", "security", "imports", "mpi", "disk")
_PYTHON = re.compile(r"(\d+)\.(\d+) (?:or newer|to (\d+)\.(\d+))")


@dataclass(frozen=True)
class Stack:
    """A set of exact versions, and what is known about it."""

    name: str
    python: str
    needs: tuple[str, ...]
    end_of_life: str
    security: str
    gains: str
    imports: tuple[str, ...]
    extensions: tuple[str, ...]
    preload: tuple[str, ...]
    mpi: str
    disk_gib: float
    indexes: Mapping[str, str]
    instead: str
    pins: Mapping[str, str]

    def takes_python(self, version: str) -> bool:
        """Tell whether it takes a Python, by its version."""
        match = _PYTHON.fullmatch(self.python)
        assert match is not None
        found = tuple(int(part) for part in version.split(".")[:2])
        first, last = (int(match[1]), int(match[2])), match[3] and (int(match[3]), int(match[4]))
        return first <= found and (not last or found <= last)

    def given(self) -> list[str]:
        """Return how it is given to a command: nothing for the default."""
        return [] if self.name == DEFAULT else [f"stack={self.name}"]

    def warnings(self) -> list[str]:
        """Return the lines that whoever chooses it should read; none where it is kept up to date."""
        if self.end_of_life == NO_END:
            return []
        lines = [f"stack '{self.name}': {self.end_of_life}; {self.security}"]
        return [*lines, f"stack '{self.name}' gains: {self.gains}"] if self.gains else lines


def parse(text: str, name: str) -> Stack:
    """Return a stack from its file's text.

    Raises:
        ValueError: a line at the head is missing or not as it has to be, or another is no exact pin.
    """
    found = re.findall(r"^# ([a-z-]+): (.+?)\s*$", text, flags=re.MULTILINE)
    head = dict(found)
    where = f"requirements/stacks/{name}.txt"
    for key in NEEDED:
        if key not in head:
            raise ValueError(f"{where} lacks the line '# {key}: ...'")
    if head["stack"] != name:
        raise ValueError(f"{where} is headed '# stack: {head['stack']}'; give it '# stack: {name}'")
    patterns = {"python": _PYTHON, "mpi": re.compile("mpich|intel"), "disk": re.compile(r"\d+(\.\d+)?")}
    for key, pattern in patterns.items():
        if not pattern.fullmatch(head[key]):
            raise ValueError(f"{where}: '# {key}: {head[key]}' is not accepted")
    try:
        pins = lockfile.pins(text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return Stack(
        name=name,
        python=head["python"],
        needs=() if head["needs"] == "nothing" else tuple(head["needs"].split()),
        end_of_life=head["end-of-life"],
        security=head["security"],
        gains=head.get("gains", ""),
        imports=tuple(head["imports"].split()),
        extensions=tuple(head.get("extensions", "").split()),
        preload=tuple(head.get("preload", "").split()),
        mpi=head["mpi"],
        disk_gib=float(head["disk"]),
        indexes=dict(value.split() for key, value in found if key == "index"),
        instead=head.get("instead", ""),
        pins=pins,
    )


def read(path: Path) -> Stack:
    """Read a stack's file.

    Raises:
        ValueError: see ``parse``.
        OSError: it can't be read.
    """
    return parse(path.read_text(encoding="utf-8"), path.stem)
