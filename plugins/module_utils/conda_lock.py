"""Explicit lists of conda packages, each an address with its SHA-256, as ``conda list --explicit --sha256`` writes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

HEAD = "@EXPLICIT"
_LINE = re.compile(
    r"^(?P<url>(?:https?|file)://\S+/(?P<subdir>[a-z0-9-]+)/(?P<file>[^/#\s]+))#(?:sha256:)?(?P<hash>[0-9a-f]{64})$"
)
_FILE = re.compile(r"^(?P<name>[A-Za-z0-9_.-]+)-(?P<version>[^-]+)-(?P<build>[^-]+)\.(?:conda|tar\.bz2)$")


@dataclass(frozen=True)
class Package:
    """One package of a lock."""

    url: str
    sha256: str
    subdir: str
    file: str
    name: str
    version: str


def parse(text: str) -> list[Package]:
    """Return the packages of a lock's text.

    Raises:
        ValueError: a line is not an address with a SHA-256, the list has no header, or a package stands twice.
    """
    found: dict[str, Package] = {}
    seen_head = False
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line == HEAD:
            seen_head = True
            continue
        match = _LINE.match(line)
        parts = match and _FILE.match(match["file"])
        if not match or not parts:
            raise ValueError(
                f"line {number}: '{line}' is not the address of a conda package with #sha256:HASH behind it"
            )
        name = parts["name"]
        if name in found:
            raise ValueError(f"line {number}: {name} stands twice")
        found[name] = Package(match["url"], match["hash"], match["subdir"], match["file"], name, parts["version"])
    if not seen_head:
        raise ValueError(f"no line {HEAD}")
    return list(found.values())


def render(packages: Iterable[tuple[str, str]], notes: Iterable[str] = ()) -> str:
    """Return the text of a lock: ``notes`` as comments, then each ``(url, sha256)``, sorted."""
    lines = [*(f"# {note}" for note in notes), HEAD, *sorted(f"{url}#sha256:{digest}" for url, digest in packages)]
    return "\n".join(lines) + "\n"


def python_of(packages: Iterable[Package]) -> str:
    """Return the Python that a lock brings, such as 3.11.

    Raises:
        ValueError: it brings none.
    """
    for package in packages:
        if package.name == "python":
            return ".".join(package.version.split(".")[:2])
    raise ValueError("no package 'python'")


def check_platform(packages: Iterable[Package], platform: str) -> None:
    """Refuse packages for other machines.

    Raises:
        ValueError: a package is neither of ``platform`` nor for any machine; the text names it.
    """
    for package in packages:
        if package.subdir not in (platform, "noarch"):
            raise ValueError(f"{package.file} is for {package.subdir}, not for {platform}")


def digest(text: str) -> str:
    """Return a SHA-256 over the packages; comments, order and where they lie don't count.

    Raises:
        ValueError: see ``parse``.
    """
    return hashlib.sha256("\n".join(sorted(f"{p.file} {p.sha256}" for p in parse(text))).encode()).hexdigest()
