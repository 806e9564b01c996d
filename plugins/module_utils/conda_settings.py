"""Checks of the settings of conda environments: their form, and what they name on the controller."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from icefield_train.rules import Rule, refusal, user_path
from plugins.module_utils import conda_lock, pushed_wheels

_CHANNEL = re.compile(r"(https?://[^\s/]+\S*|file:///\S+)")
_SPEC = re.compile(r"[A-Za-z0-9_.:/-]+\s*([=<>!~ ]\s*\S.*)?")
_PYTHON = re.compile(r"python(?![A-Za-z0-9_.-])")


def _channels(channels: list[str]) -> bool:
    return bool(channels) and all(_CHANNEL.fullmatch(channel) for channel in channels)


def _packages(packages: list[str]) -> bool:
    return all(_SPEC.fullmatch(spec) for spec in packages) and any(_PYTHON.match(spec) for spec in packages)


RULES: dict[str, Rule] = {
    "conda_channels": Rule(
        words="a list of addresses that begin with https://, http:// or file:///",
        test=_channels,
    ),
    "conda_packages": Rule(words="a list of packages such as [python=3.11], python among them", test=_packages),
    "conda_miniforge_version": Rule(
        words="a version of Miniforge such as 25.3.1-0",
        test=lambda value: bool(re.fullmatch(r"[0-9]+(\.[0-9]+)+-[0-9]+", value)),
    ),
    "conda_installer": Rule(
        words="an address that begins with https://, http:// or file:///, or an absolute path, or nothing",
        test=lambda value: value == "" or value.startswith("/") or bool(_CHANNEL.fullmatch(value)),
    ),
    "conda_lock": Rule(
        words="the absolute path of a lock, or nothing", test=lambda value: value == "" or value.startswith("/")
    ),
    "conda_installer_sha256": Rule(
        words="64 digits of 0-9 and a-f, or nothing",
        test=lambda value: bool(re.fullmatch(r"([0-9a-f]{64})?", value)),
    ),
}


def local_path(address: str) -> str:
    """Return the path of a ``file://`` address, or an address that is a path already; "" for any other."""
    if address.startswith("file://"):
        return unquote(urlsplit(address).path)
    return "" if "://" in address else address


def faults(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each setting among ``values`` (converted) that names something not there, or not usable."""
    if values["conda_lock"]:
        yield from _lock_faults(values["conda_lock"], values["conda_platform"])
    else:
        for channel in values["conda_channels"]:
            path = local_path(channel)
            if path and not any(Path(path).glob("*/repodata.json*")):
                yield refusal("conda_channels", channel, "a folder with a channel (no repodata.json is below it)")
    if values["conda_provider"] == "miniforge":
        yield from _installer_faults(values["conda_installer"], values["conda_installer_sha256"])


def _lock_faults(given: str, platform: str) -> Iterator[str]:
    words = "a file as `conda list --explicit --sha256` writes it"
    try:
        text = user_path("conda_lock", given, words).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        yield refusal("conda_lock", given, f"{words} ({str(getattr(error, 'strerror', '') or 'not text').lower()})")
        return
    except ValueError as error:
        yield str(error)
        return
    try:
        packages = conda_lock.parse(text)
        conda_lock.python_of(packages)
        conda_lock.check_platform(packages, platform)
    except ValueError as error:
        yield refusal("conda_lock", given, f"{words} ({error})")


def _installer_faults(installer: str, sha256: str) -> Iterator[str]:
    if not sha256:
        yield refusal(
            "conda_installer_sha256", "", "the SHA-256 of Miniforge's installer, which its release's page tells"
        )
        return
    given = local_path(installer)
    if not given:
        return
    words = "the path of Miniforge's installer on this machine"
    try:
        path = user_path("conda_installer", given, words)
    except ValueError as error:
        yield str(error)
        return
    if not path.is_file():
        yield refusal("conda_installer", installer, f"{words} ({path} is not a file)")
    elif (found := pushed_wheels.sha256(path)) != sha256:
        yield refusal("conda_installer_sha256", sha256, f"that of {path}, if you trust it: {found}")
