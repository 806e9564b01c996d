"""The packages that a user's script needs beside the stack's: resolved, downloaded and unpacked on the controller.

The result is a folder that is staged like any other and put on PYTHONPATH. Nothing of the stack is in it: pip resolves
with the stack's pins as constraints, and what these pins cover is left out.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from icefield_train.rules import refusal
from plugins.module_utils import lockfile, requirements_file
from plugins.module_utils.requirements_file import ACCEPTED, NAME, Platform
from plugins.module_utils.staging import digest_of
from plugins.module_utils.wheels import platform_args

_INDEX_TIMEOUT_SECONDS = 5
_LOCK = "lock.txt"
_SITE = "site"


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """Packages, ready to be staged."""

    path: Path
    """Folder to be put on PYTHONPATH; empty where the stack has all that is asked for."""
    digest: str
    """Of that folder."""
    packages: list[str]
    """Exact pins."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """What the nodes have already."""

    pins: Mapping[str, str]
    """Versions by package."""
    platform: Platform
    wheelhouse: Path
    """Folder of its wheels on the controller, where they are."""
    torch_index_url: str
    """Index of PyTorch's CPU builds, for a controller that has no wheel of torch."""


def read_stack(lock: Path, wheelhouse: Path, torch_index_url: str) -> Stack:
    """Return a stack, from its lock.

    Raises:
        ValueError: the lock has other lines than exact pins, or does not tell its platform.
        OSError: it can't be read.
    """
    text = lock.read_text(encoding="utf-8")
    return Stack(
        pins=lockfile.pins(text),
        platform=requirements_file.platform_of(text),
        wheelhouse=wheelhouse,
        torch_index_url=torch_index_url,
    )


def make_layer(value: str, called_from: Path, stack: Stack, cache: Path) -> Layer:
    """Return the layer of a requirements file. The same file and stack give the same one, without asking an index.

    Args:
        value: setting ``script_requirements``.
        called_from: folder that relative paths are meant from.
        stack: what the nodes have already.
        cache: folder on the controller.

    Raises:
        ValueError: the file is not accepted, conflicts with the stack, or names what is nowhere to be had.
        OSError: the cache can't be written.
    """
    path = called_from / requirements_file.path_of(value)
    wanted = requirements_file.read(value, path, stack.platform)
    for conflict in requirements_file.conflicts(wanted, stack.pins):
        raise ValueError(_conflict(value, conflict))
    folder = cache / "layers" / _key(wanted, stack)
    if not folder.is_dir():
        _make(value, wanted, stack, folder)
    return Layer(
        path=folder / _SITE,
        digest=digest_of(folder / _SITE),
        packages=(folder / _LOCK).read_text(encoding="utf-8").split(),
    )


def _conflict(value: str, words: str) -> str:
    return refusal(NAME, value, f"packages that go with the stack's, which a script cannot replace ({words})")


def _key(wanted: Sequence[Requirement], stack: Stack) -> str:
    lines = sorted(str(requirement) for requirement in wanted)
    lines += [f"{name}=={version}" for name, version in sorted(stack.pins.items())]
    lines += [stack.platform.python, stack.platform.machine]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def _make(value: str, wanted: Sequence[Requirement], stack: Stack, folder: Path) -> None:
    """Resolve, download and unpack; the folder gets its name when all is done."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        (aside / _SITE).mkdir()
        packages = _resolve(value, wanted, stack, aside) if wanted else []
        if packages:
            where = [*_target(stack), "--no-deps"]
            _pip(value, stack, "download", *where, *_sources(stack), "--dest", str(aside / "wheels"), *packages)
            offline = ["--no-index", "--find-links", str(aside / "wheels"), "--no-compile", "--no-warn-script-location"]
            _pip(value, stack, "install", *where, *offline, "--target", str(aside / _SITE), *packages)
            # Commands that name this machine's Python: of no use on a node, and other bytes on each controller.
            shutil.rmtree(aside / _SITE / "bin", ignore_errors=True)
            for name in _hiding(aside / _SITE, stack):
                raise ValueError(_conflict(value, f"they bring a module '{name}' that would hide the one there is"))
        (aside / _LOCK).write_text("".join(f"{package}\n" for package in packages), encoding="utf-8")
        aside.chmod(0o755)
        aside.replace(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _hiding(site: Path, stack: Stack) -> list[str]:
    """Return modules that would hide one of the stack or of Python itself: PYTHONPATH is looked at first."""
    # Some packages carry their tests along by mistake; nobody imports Python's own.
    taken = {name.replace("-", "_") for name in stack.pins} | (sys.stdlib_module_names - {"test"})
    return sorted(taken & {path.stem if path.is_file() else path.name for path in site.iterdir()})


def _target(stack: Stack) -> list[str]:
    return platform_args(stack.platform.python, stack.platform.machine)


def _resolve(value: str, wanted: Sequence[Requirement], stack: Stack, aside: Path) -> list[str]:
    """Return exact pins of all that is needed and that the stack lacks."""
    constraints, lines, report = aside / "constraints.txt", aside / "requirements.txt", aside / "report.json"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in stack.pins.items()), encoding="utf-8")
    # Markers were looked at for the nodes' Python; pip would look at them for its own.
    bare = [f"{line.name}{'[' + ','.join(sorted(line.extras)) + ']' if line.extras else ''}" for line in wanted]
    lines.write_text("".join(f"{name}{line.specifier}\n" for name, line in zip(bare, wanted, strict=True)))
    _pip(
        value,
        stack,
        *("install", "--dry-run", "--ignore-installed", "--report", str(report), "--target", str(aside / _SITE)),
        *_target(stack),
        *_sources(stack),
        *("--constraint", str(constraints), "--requirement", str(lines)),
    )
    found = [entry["metadata"] for entry in json.loads(report.read_text(encoding="utf-8"))["install"]]
    names = {canonicalize_name(entry["name"]): entry["version"] for entry in found}
    return sorted(f"{name}=={version}" for name, version in names.items() if name not in stack.pins)


def _sources(stack: Stack) -> list[str]:
    """Return where pip looks beside the indexes that it is configured with."""
    found = ["--find-links", str(stack.wheelhouse)] if stack.wheelhouse.is_dir() else []
    url = stack.torch_index_url
    # pip itself would try for minutes to reach an index that it cannot reach.
    if url and not any(stack.wheelhouse.glob("torch-*.whl")) and _answers(f"{url.rstrip('/')}/torch/"):
        found += ["--extra-index-url", url]
    return found


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=_INDEX_TIMEOUT_SECONDS):
            return True
    except (urllib.error.URLError, OSError, ValueError):
        return False


def _pip(value: str, stack: Stack, *arguments: str) -> None:
    """Run pip of the controller.

    Raises:
        ValueError: it failed; the line says what stands against what, or what is nowhere to be had.
    """
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(_refused(value, done.stdout + "\n" + done.stderr, stack.pins))


def _refused(value: str, said: str, pins: Mapping[str, str]) -> str:
    """Return the one line for what pip printed when it failed."""
    lines = [line.strip() for line in said.splitlines()]
    caused = [line for line in lines if re.search(r" depends on |The user requested ", line)]
    limits = [match[1] for line in caused if (match := re.search(r"\(constraint\) ([A-Za-z0-9._-]+)", line))]
    pinned = [f"{name} {pins[canonicalize_name(name)]}" for name in limits if canonicalize_name(name) in pins]
    asking = [line for line in caused if "(constraint)" not in line]
    if pinned and asking:
        return _conflict(value, f"{asking[0]}, the stack has {pinned[0]}")
    if asking:
        return refusal(NAME, value, f"{ACCEPTED} that go together ({', '.join(asking[:3])})")
    missing = next((line for line in lines if "Could not find a version that satisfies" in line), "")
    if match := re.search(r"requirement (.+?) \(from versions: (.*)\)", missing):
        there = match[2].split(", ")[-1]
        known = "pip's indexes have no wheel of it for the nodes" if there == "none" else f"the newest is {there}"
        return refusal(NAME, value, f"{ACCEPTED} ({match[1]} is not to be had: {known})")
    error = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines or ["nothing"]
    return refusal(NAME, value, f"{ACCEPTED} that pip can download ({error[0]})")
