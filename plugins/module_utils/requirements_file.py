"""A user's requirements file: read, and compared with the packages that the nodes have already."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from icefield_train.rules import refusal, user_path

NAME = "script_requirements"
ACCEPTED = "a requirements file with packages by name and version"
_INCLUDE = re.compile(r"(?:-r\s*|--requirement[\s=])(\S.*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """What the nodes run, as the stack names it."""

    python: str
    """Such as 3.11."""
    machine: str
    """Such as x86_64."""

    def markers(self) -> dict[str, str]:
        """Return the values of environment markers on the nodes."""
        return {
            "implementation_name": "cpython",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_system": "Linux",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": "linux",
        }


def platform_of(stack: str) -> Platform:
    """Return the platform that a stack's lock was tested with, from its text.

    Raises:
        ValueError: it does not say.
    """
    match = re.search(r"^# tested-with: CPython (\d+\.\d+), (\w+)", stack, flags=re.MULTILINE)
    if match is None:
        raise ValueError("the stack's file lacks the line '# tested-with: CPython VERSION, MACHINE'")
    return Platform(python=match[1], machine=match[2])


def path_of(value: str) -> Path:
    """Return the path that the setting names.

    Raises:
        ValueError: no such path can be there.
    """
    return user_path(NAME, value, ACCEPTED)


def read(value: str, path: Path, platform: Platform) -> list[Requirement]:
    """Return the requirements of a file that count on the nodes, those of the files that it includes as well.

    Args:
        value: the setting, for what is refused.
        path: the file.
        platform: of the nodes; lines for others are left out.

    Raises:
        ValueError: the file can't be read, or a line is not a package by name and version.
    """
    found = list(_read(value, path, ()))
    return [line for line in found if line.marker is None or line.marker.evaluate({**platform.markers(), "extra": ""})]


def _read(value: str, path: Path, above: tuple[Path, ...]) -> Iterator[Requirement]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(refusal(NAME, value, f"{ACCEPTED} ({path} is not text)")) from None
    except OSError as error:
        raise ValueError(refusal(NAME, value, f"{ACCEPTED} ({path}: {str(error.strerror).lower()})")) from None
    for number, line in _lines(text):
        include = _INCLUDE.fullmatch(line)
        if include is not None:
            other = (path.parent / include[1].strip()).resolve()
            if other in (*above, path.resolve()):
                raise ValueError(refusal(NAME, value, f"{ACCEPTED} ({path} line {number} includes itself)"))
            yield from _read(value, other, (*above, path.resolve()))
            continue
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            raise ValueError(_not_a_package(value, path, number, line)) from None
        if requirement.url:
            raise ValueError(_not_a_package(value, path, number, line))
        yield requirement


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and content of each line, without comments; a backslash at its end joins a line with the next."""
    begun, joined = 0, ""
    for number, raw in enumerate(text.splitlines(), start=1):
        begun = begun or number
        line = re.sub(r"(^|\s)#.*", "", raw)
        if line.endswith("\\"):
            joined += line[:-1]
            continue
        if whole := (joined + line).strip():
            yield begun, whole
        begun, joined = 0, ""
    if joined.strip():
        yield begun, joined.strip()


def _not_a_package(value: str, path: Path, number: int, line: str) -> str:
    shown = line if len(line) <= 80 else line[:77] + "..."
    hint = "options, hashes, folders and addresses are not taken; indexes are those that pip is configured with"
    return refusal(NAME, value, f"{ACCEPTED} ({path.name} line {number}: '{shown}'; {hint})")


def conflicts(requirements: list[Requirement], pins: Mapping[str, str]) -> Iterator[str]:
    """Yield what stands against the stack's packages, such as ``it asks for torch<2, the stack has torch 2.13.0``."""
    for requirement in requirements:
        version = pins.get(canonicalize_name(requirement.name))
        if version is not None and not requirement.specifier.contains(version, prereleases=True):
            yield f"it asks for {requirement.name}{requirement.specifier}, the stack has {requirement.name} {version}"
